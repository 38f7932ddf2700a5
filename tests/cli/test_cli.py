"""The command as a user meets it: quick help, and one clear line for whatever can be put right."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT, Done, command_here, row, script, write_jsonl
from tests.support.scenarios import Scenario, scenarios
from truebench_hf.cli import commands
from truebench_hf.cli.app import whole

HEAVY = (
    "torch", "transformers", "vllm", "ray", "gradio", "datasets", "evaluate", "plotly", "polars", "openai", "numpy",
    "scipy", "sklearn", "pandas", "huggingface_hub",
)  # fmt: skip


# What a study needs, and to show what there is does not.
OURS = tuple(f"truebench_hf.{name}" for name in ("benchmarks", "study", "judging.judge", "records", "report", "space"))
LATER = (*HEAVY, *OURS, "pydantic", "jinja2", "rich")


def in_a_process(code: str) -> list[str]:
    """The lines that a program prints; `shows(...)` in it runs a command that ends by showing its help."""
    before = (
        "import sys, time\ndef shows(*words):\n    from truebench_hf.cli.app import app\n    try:\n        app(list(words))\n"
        "    except SystemExit as stop:\n        assert not stop.code\n"
    )
    done = subprocess.run([sys.executable, "-c", before + code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@scenarios(__file__, "lines")
def test_lines_of_commands(scenario: Scenario, tmp_path: Path) -> None:
    scenario.play(tmp_path)


def test_help_is_quick_and_light() -> None:
    code = f"shows('--help'); print(time.process_time(), sorted(set({LATER!r}) & set(sys.modules)))"
    for _ in range(4):
        *lines, last = in_a_process(code)
        for name in ("run", "judge", "compare", "study"):
            assert any(re.search(rf"^\W*{name} ", line) for line in lines)
        assert not any(line.endswith("...") for line in lines[1:]), "summaries are shown whole"
        seconds, heavy = last.split(" ", 1)
        assert heavy == "[]"
        if float(seconds) < 0.4:
            return
    pytest.fail(f"{seconds} seconds of computing: the clock would count what else the machine does")


def test_a_command_loads_its_own_benchmark_alone_and_an_import_nothing() -> None:
    benchmarks = "{name.split('.')[2] for name in sys.modules if name.startswith('truebench_hf.benchmarks.')}"
    *lines, last = in_a_process(f"shows('study', 'contrast', '--help'); print({benchmarks})")
    assert (any("--max-edit" in line for line in lines), last) == (True, "{'rubric_eval'}")
    assert in_a_process(f"import truebench_hf; print(set({LATER!r}) & set(sys.modules))") == ["set()"]


@pytest.mark.slow
def test_a_run_whose_answers_are_all_there_loads_no_client(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["run", "--data", "mini", "--limit", "3", "--allow-unscored", "--out", str(tmp_path / "run")]
    with OpenAIServer() as server:
        asked = [
            "--model=openai:m",
            "--judge=openai:m",
            f"--model-base-url={server.url}",
            f"--judge-base-url={server.url}",
        ]
        assert command_here(capsys, *options, *asked).returncode == 0
        calls = server.stats()["total"]
        (*_, last) = in_a_process(
            f"from truebench_hf.cli.app import whole\nwhole()({[*options, *asked]!r}, standalone_mode=False)\n"
            "print({'openai', 'aiohttp', 'truebench_hf.data.sources'} & set(sys.modules))"
        )
        assert last == "set()"
        assert server.stats()["total"] == calls


class Call:
    """A good `truebench run` with scripted models, to be spoilt one flag at a time; run in this process for speed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        answers = script(folder / "model.json", [])
        judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
        data = write_jsonl(folder / "data.jsonl", [row(1, [("Say A.", ["is A"])], language="DE")])
        self.flags = {"--data": data, "--model": answers, "--judge": judge, "--out": str(folder / "out")}

    def __call__(self, *more: str) -> Done:
        """`truebench run` with the good flags but for those in `more`, then `more`."""
        good = [text for flag, value in self.flags.items() if flag not in more for text in (flag, value)]
        return self.command("run", *good, *more)

    def command(self, *arguments: str) -> Done:
        """`truebench` with these arguments; `{tmp}` in them is the folder."""
        return command_here(self._capsys, *(text.replace("{tmp}", str(self.folder)) for text in arguments))


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    (tmp_path / "broken.jsonl").write_text('{"index": 1}\n')
    write_jsonl(
        tmp_path / "some.jsonl",
        [row(1, [("Say A.", ["is A"])], language="DE"), row(2, [("Say B.", ["is B"])], language="")],
    )
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "bad.jinja").write_text("{% for %}")
    (tmp_path / "file").write_text("")
    (tmp_path / "scores.json").write_text("mine")
    (tmp_path / "report.html").write_text("mine")
    return Call(tmp_path, monkeypatch, capsys)


@each_row(__file__, "cli", "bad_input")
def test_bad_input_is_one_line_and_exit_code_2(call: Call, flags: str, words: list[str]) -> None:
    done = call(*flags.split())
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert done.stderr.startswith("truebench: ")
    assert all(word in done.stderr for word in words), done.stderr
    assert not (call.folder / "out").exists(), "nothing is begun"


@each_row(__file__, "cli", "other_commands")
def test_the_other_commands_too(call: Call, line: str, words: str, usage: bool | None) -> None:
    done = call.command(*line.split())
    assert (done.returncode, words in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr
    assert done.stderr.count("\n") == 1 or usage, done.stderr


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed here")
def test_a_missing_extra_names_the_line_that_installs_it(call: Call) -> None:
    done = call("--model", "vllm:org/m")
    assert done.returncode == 2
    assert "pip install 'truebench-hf[vllm]'" in done.stderr


def test_what_was_typed_wrongly_is_told_without_its_login(capsys: pytest.CaptureFixture[str]) -> None:
    url = "http://bob:hunter2hunter2@127.0.0.1:9/v1"
    done = command_here(
        capsys, "run", "--data", "mini", "--model", "openai:m", "--judge", "openai:j", "--out", "o", url
    )
    assert done.returncode == 2
    assert "unexpected extra argument" in done.stderr
    assert "hunter2" not in done.stderr
    assert "hunter2" not in command_here(capsys, "study", "score", url).stderr, "a path has lost a slash"


@pytest.mark.slow
def test_more_calls_at_a_time_than_files_may_be_open_at_first(tmp_path: Path) -> None:
    """As few as 256 on a Mac. The shell's limit is raised as far as it may be; nothing could be loaded beyond it."""
    data = write_jsonl(tmp_path / "data.jsonl", [row(number, [(f"Say {number}.", ["Polite"])]) for number in range(60)])
    with OpenAIServer(delay=0.3) as server:
        asked = [
            sys.executable, "-m", "truebench_hf", "run", "--data", data, "--out", str(tmp_path / "out"),
            "--model", "openai:m", "--model-base-url", server.url, "--model-concurrency", "60",
            "--judge", "openai:j", "--judge-base-url", server.url, "--judge-concurrency", "60", "--rules", "off",
        ]  # fmt: skip
        done = subprocess.run(
            ["sh", "-c", 'ulimit -Sn 48; exec "$@"', "sh", *asked],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr[-500:]) == (0, "")
        assert server.stats()["total"] == 120, "no call was lost and sent again"


def test_a_folder_that_nobody_named_is_told_once_it_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write_jsonl(tmp_path / "data.jsonl", [row(1, [("Say A.", ["is A"])])])
    good = ["run", "--data", data, "--model", script(tmp_path / "model.json", []), "--judge", "none"]
    refused = command_here(capsys, *good, "--language", "SWEDISH")
    assert (refused.returncode, refused.stdout) == (2, ""), "no folder was made"
    estimated = command_here(capsys, *good, "--estimate")
    assert "What 1 item would take" in estimated.stdout
    assert not (tmp_path / "runs").exists()
    done = command_here(capsys, *good, "--allow-unscored")
    told, _, folder = done.stdout.splitlines()[0].partition(": ")
    assert told == "folder", done.stdout
    assert (tmp_path / folder / "run.json").is_file()


TOP = (
    "demo", "run", "judge", "compare", "check", "leaderboard", "table", "label", "metaeval", "tick", "facts", "flex", "data", "publish",
    "space", "cache",
)  # fmt: skip


def tree(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """(whole name, command) of a command or group and of all below it."""
    yield " ".join(path), command
    for name, inner in getattr(command, "commands", {}).items():
        yield from tree(inner, (*path, name))


def test_no_command_comes_without_one_that_goes() -> None:
    """A new command needs a reason: people read this list. Fifty-four at most, and three of them for asking people."""
    assert tuple(whole().list_commands(None)) == (*TOP, "study")
    names = [name for name, command in tree(whole()) if not hasattr(command, "commands")]
    assert len(set(names)) == len(names) <= 54
    assert [name for name in names if name.startswith("label ")] == ["label out", "label in", "label open"]
    assert not [name for name in names if "sheet" in name or "annot" in name], "people are asked by `label`"
    assert len([name for name in names if name.startswith("study ") and name.count(" ") == 1]) <= 17


def test_every_help_text_is_of_a_command_and_every_command_has_one() -> None:
    files = {path.stem for path in commands._HELP.glob("[!_]*.md")}
    names = {name.replace(" ", "_") or "truebench" for name, _ in tree(whole())}
    assert files == names


def test_every_command_refuses_an_option_given_twice(capsys: pytest.CaptureFixture[str]) -> None:
    tried = 0
    for name, command in tree(whole()):
        options = [p for p in getattr(command, "loaded", command).params if p.param_type_name == "option"]
        single = [p for p in options if not p.multiple and p.name != "help" and not hasattr(command, "commands")]
        for option in single[:1]:
            words = [option.opts[0]] if option.is_flag else [option.opts[0], "1"]
            done = command_here(capsys, *name.split(), *words, *words)
            assert (done.returncode, option.opts[0] in done.stderr) == (2, True), (name, done.stderr)
            assert done.stderr.endswith("is given 2 times; give it once\n"), (name, done.stderr)
            tried += 1
    assert tried > 40
