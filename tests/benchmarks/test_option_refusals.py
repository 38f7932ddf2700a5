"""What every command and `truebench_hf.run` refuse before a folder is opened (`refusals.yaml`), and what becomes of replaced prompts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.golden.case import run_command
from tests.support.arbitration import panel_specs, table_rows
from tests.support.corpus import options_of, table
from tests.support.runs import held, script, write_jsonl
from tests.support.scenarios import read_scenarios
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.cli.studies import load
from truebench_hf.errors import UserError
from truebench_hf.prompts import Prompts

TABLE: dict[str, Any] = dict(table(__file__, "refusals"))
FILES: dict[str, Any] = TABLE.pop("files")
# By file of labelled rubrics: what differs in all of its rows from those of rubric_mini.
RUBRICS: dict[str, dict[str, Any]] = {
    "rubrics": {}, "unlabelled": {"label": None}, "all_met": {"label": "yes"}, "one_instruction": {"instruction_id": "same"},
}  # fmt: skip
CASES = [(name, study["plain"], case) for name, study in TABLE.items() for case in study["cases"]]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that options of the table name."""
    folder = tmp_path_factory.mktemp("inputs")
    panel_specs(folder)
    for name in ("judge", "bob"):
        script(folder / f"{name}.json", [])
    rubrics = mini_rows()[:40]
    for name, change in RUBRICS.items():
        write_jsonl(folder / f"{name}.jsonl", [row | change for row in rubrics])
    write_jsonl(folder / "bare.jsonl", [row | {"response": None} for row in table_rows()])
    (folder / "flex").mkdir()
    for file, content in FILES.items():
        path = folder / file
        path.write_text(content) if isinstance(content, str) else write_jsonl(path, content)
    return folder


def play(name: str, values: dict[str, Any]) -> None:
    if name.startswith("truebench_hf.run"):
        truebench_hf.run(**values)
        return
    options, study = load(name)
    chosen = options(**options_of(values))
    assert name != "judge" or chosen.settings  # what its folder holds comes later
    study(chosen).run()


@pytest.mark.parametrize(("name", "plain", "case"), CASES, ids=[f"{name}: {case['words']}" for name, _, case in CASES])
def test_it_is_refused_and_nothing_is_written(
    inputs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    plain: dict[str, Any],
    case: dict[str, Any],
) -> None:
    monkeypatch.chdir(shutil.copytree(inputs, tmp_path / "here"))
    if "rows" in case:
        write_jsonl(Path("data.jsonl"), case["rows"] or [" "])
    values = {"out": "out"} | plain | case.get("more", {})
    if values["out"] is None:
        del values["out"]
    with pytest.raises(UserError, match=case["words"]):
        play(name, values)
    assert case.get("opened") or not Path("out").exists(), "the right command may use the folder"


# `--prompt`: the text is kept in `run.json`, and a bad one is refused before anything is paid

COMMANDS: dict[str, dict[str, str]] = table(__file__, "replaced_prompts")["commands"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder with data and models, which is the current one."""
    read_scenarios(__file__, "replaced_prompts")["inputs"].play(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def play_command(name: str, prompt: str, out: str = "out") -> str:
    """Run a command with a prompt of one's own; what it prints."""
    place = "judged" if name == "judge" else out
    return run_command(f"{COMMANDS[name]['line']} --out {place}" + (f" --prompt {prompt}" if prompt else ""))


def replaced(out: str) -> tuple[dict[str, Any], dict[str, str]]:
    """(the replaced prompts, the hashes of all) that a folder knows."""
    info = held(Path(out) / "run.json")
    return info["replaced_prompts"], info["settings"]["prompts"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_text_and_the_path_of_a_replaced_prompt_are_kept(name: str) -> None:
    prompt, mine = COMMANDS[name]["prompt"], Path("mine.jinja")
    mine.write_text(text := f"My own words.\n{Prompts().source(prompt)}")
    assert "exit code 0" in play_command(name, f"{prompt}=mine.jinja")
    texts, hashes = replaced("judged" if name == "judge" else "out")
    assert texts == {prompt: {"path": "mine.jinja", "text": text}}
    assert hashes[prompt] == Prompts({prompt: "mine.jinja"}).hash(prompt), "the hash binds the folder"
    mine.rename("moved.jinja")
    assert "exit code 0" in play_command(name, f"{prompt}=moved.jinja"), "the path binds nothing"


HOSTILE = "{{ cycler.__init__.__globals__.os.popen('touch was-run').read() }}"
LATE = "{% if structured is defined and structured %}{{ answer }}{% endif %}{{ '{0.__class__}'.format(tag) }}"


@pytest.mark.parametrize(
    ("name", "template", "words"), [*((name, HOSTILE, "SecurityError") for name in COMMANDS), ("run", LATE, "")]
)
def test_a_bad_prompt_is_refused_before_anything_is_paid_for(
    folder: Path, name: str, template: str, words: str
) -> None:
    prompt = COMMANDS[name]["prompt"]
    (folder / "mine.jinja").write_text(template)
    before = sorted(folder.rglob("*"))
    head, _, error = play_command(name, f"{prompt}=mine.jinja").partition("--- on stderr\n")
    assert ("exit code 2" in head, error.count("\n")) == (True, 1), error
    assert f"--prompt {prompt}=mine.jinja: " in error
    assert words in error
    assert sorted(folder.rglob("*")) == before, "nothing was run or written"


@pytest.mark.usefixtures("folder")
def test_ours_leave_nothing_behind_and_a_variant_its_name() -> None:
    play_command("run", "")
    assert replaced("out")[0] == {}
    assert "prompts.checklist: " in play_command("run", "checklist=plain")
    assert replaced("out")[0] == {}, "a run that was refused changes nothing"
    assert "exit code 0" in play_command("run", "checklist=plain", "other")
    plain = Prompts({"checklist": "plain"})
    texts, hashes = replaced("other")
    assert texts == {"checklist": {"variant": "plain", "text": plain.source("checklist")}}
    assert hashes["checklist"] == plain.hash("checklist")
