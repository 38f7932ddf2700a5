"""The `evaluate` modules: loaded offline and by name, the examples of their cards run, and their apps."""

from __future__ import annotations

import doctest
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.hub_stub import HubStub
from truebench_hf.errors import UserError

FOLDER = Path(truebench_hf.__file__).parent / "evaluate_modules"
NAMES = sorted(path.name for path in FOLDER.iterdir() if (path / "README.md").is_file())

# Connecting anywhere ends the process; HF_HOME must be set by the caller.
BLOCKED = """
import socket
def refuse(*arguments, **options):
    raise SystemExit("a connection was tried")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse
"""


def python(code: str, home: Path, **env: str) -> Any:
    """The value that `code` prints as JSON on its last line, from a fresh process with its caches in `home`."""
    environment = {**os.environ, "HF_HOME": str(home), "HF_UPDATE_DOWNLOAD_COUNTS": "0", **env}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_there_are_the_six_modules_and_an_unknown_one_is_refused() -> None:
    assert NAMES == [
        "checklist_drfr", "flexeval", "grounding_score", "preference_agreement", "rubric_agreement", "truebench_score",
    ]  # fmt: skip
    assert truebench_hf.metric("flexeval") == str(FOLDER / "flexeval")
    with pytest.raises(UserError, match="rubric_agreement"):
        truebench_hf.metric("rubric_agreemnt")


@pytest.mark.parametrize("name", NAMES)
def test_a_module_is_a_folder_of_three_files(name: str) -> None:
    files = sorted(path.name for path in (FOLDER / name).iterdir() if path.name != "__pycache__")
    assert files == sorted(["README.md", f"{name}.py", "requirements.txt"])
    assert "truebench-hf" in (FOLDER / name / "requirements.txt").read_text()
    header = (FOLDER / name / "README.md").read_text().split("---")[1]
    assert "sdk: gradio" in header
    assert "app_file: app.py" in header
    # evaluate's scanner reads `import a, b` as one package called "a, b".
    assert not re.findall(r"^import .*,", (FOLDER / name / f"{name}.py").read_text(), re.M)


@pytest.mark.slow
def test_all_load_offline_with_the_network_blocked(tmp_path: Path) -> None:
    code = f"""
        {textwrap.indent(BLOCKED, " " * 8).strip()}
        import json, evaluate, truebench_hf
        loaded = [evaluate.load(truebench_hf.metric(name)) for name in {NAMES}]
        found = loaded[4].compute(predictions=["yes", "no"], references=["yes", "yes"])
        print(json.dumps([[metric.name for metric in loaded], found["accuracy"]]))
    """
    names, accuracy = python(code, tmp_path, HF_HUB_OFFLINE="1")
    assert [name.replace("_", "") for name in names] == [name.replace("_", "") for name in NAMES]
    assert accuracy == 0.5


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_a_card_give_what_they_say(name: str) -> None:
    blocks = re.findall(
        r"^```python\n(.*?)^```", (FOLDER / name / "README.md").read_text(encoding="utf-8"), re.M | re.S
    )
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, "README.md", 0)
    failures: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=failures.append)
    assert result.attempted >= 4
    assert not failures, "\n".join(failures)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_app_builds_a_page_and_computes_its_own_example(name: str, tmp_path: Path) -> None:
    for file in (FOLDER / "app.py", FOLDER / name / f"{name}.py"):  # as they are published
        shutil.copy(file, tmp_path)
    spec = importlib.util.spec_from_file_location(f"app_of_{name}", tmp_path / "app.py")
    assert spec is not None
    assert spec.loader is not None
    app = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(app)
    values = app.demo.fn(*(field.value for field in app.demo.input_components))
    assert any(isinstance(value, float) for value in values.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ('["yes"', "not JSON"),  # cut off while typing
        ('"yes"', "must be a list"),  # one value in place of a column
        ('["<b>maybe</b>", "no"]', "neither 'yes' nor 'no'"),  # a word that is no label
        ('["yes", "no", "no"]', "Mismatch|parallel"),  # longer than the other column
    ],
)
def test_the_app_says_in_words_what_is_wrong(load: Any, typed: str, shown: str) -> None:
    import gradio as gr

    from truebench_hf.evaluate_modules.widget import metric_widget

    demo = metric_widget(load("rubric_agreement"))
    with pytest.raises(gr.Error, match=shown):
        demo.fn(typed, '["yes", "no"]')


@pytest.mark.slow
def test_a_pushed_metric_loads_by_name_from_the_hub(tmp_path: Path) -> None:
    with HubStub() as hub:
        push = f"""
            import json
            from huggingface_hub import HfApi
            HfApi().create_repo("user/rubric_agreement", repo_type="space", space_sdk="gradio")
            HfApi().upload_folder(folder_path={truebench_hf.metric("rubric_agreement")!r}, repo_id="user/rubric_agreement",
                                  repo_type="space", ignore_patterns=["__pycache__/*"])
            print(json.dumps(None))
        """
        load = """
            import json, evaluate
            found = evaluate.load("user/rubric_agreement").compute(predictions=[None, "no"], references=["yes", "no"])
            print(json.dumps(found))
        """
        homes = [tmp_path / "push", tmp_path / "load"]
        for home in homes:
            home.mkdir()
        python(push, homes[0], **hub.env)
        found = python(load, homes[1], **hub.env)
    assert (found["tn"], found["undecided"], found["accuracy"]) == (1, 1, 1.0)
