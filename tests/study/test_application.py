"""The example of `examples/add_a_benchmark.md`, run as it is printed, and its command among those of `truebench`."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.study import colours
from tests.support.runs import ROOT, script, write_jsonl
from truebench_hf.cli import commands, studies
from truebench_hf.cli.application import options_of

PAGE = (ROOT / "docs" / "add_a_benchmark.md").read_text(encoding="utf-8")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = re.search(r"^python -m (\S+) --data", PAGE, re.MULTILINE)
    assert command
    return subprocess.run(
        [sys.executable, "-m", command[1], *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "COLUMNS": "160"},
    )  # fmt: skip


@pytest.fixture
def arguments(tmp_path: Path) -> dict[str, str]:
    model = script(tmp_path / "model.json", [{"contains": "snow", "reply": "white"}])
    data = write_jsonl(
        tmp_path / "things.jsonl", [{"thing": "snow", "colour": "white"}, {"thing": "sky", "colour": "blue"}]
    )
    return {"--data": data, "--model": model, "--out": str(tmp_path / "out")}


def words(arguments: dict[str, str]) -> list[str]:
    return [word for pair in arguments.items() for word in pair]


def test_what_is_printed_is_what_runs() -> None:
    code = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert code
    assert code[1].strip() in Path(colours.__file__).read_text(encoding="utf-8")


def test_the_script_runs(arguments: dict[str, str]) -> None:
    done = run(*words(arguments))
    assert done.returncode == 0, done.stderr
    assert "50.00" in done.stdout, "one of two"
    assert (Path(arguments["--out"]) / "report.html").exists()


def test_its_errors_are_one_line(arguments: dict[str, str]) -> None:
    for option, value, told in (
        ("--data", "nowhere.jsonl", "nowhere.jsonl: cannot be read"), ("--limit", "x", "Invalid value for '--limit'"),
        ("--model", "scripted:nowhere.json", "nowhere.json: not a usable script"),
    ):  # fmt: skip
        done = run(*words(arguments | {option: value}))
        assert (done.returncode, told in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_its_help_is_what_the_class_says() -> None:
    shown = run("--help").stdout
    assert "The share of things whose colour a model knows." in shown
    assert "Who names the colours." in shown


def test_a_command_among_the_others_needs_no_text_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "truebench_hf.benchmarks.colours", colours)
    entry = ("colours", "ColourOptions", "Colours")
    monkeypatch.setattr(studies, "_COMMANDS", {"colours": entry, "run": studies._COMMANDS["run"]})
    monkeypatch.setattr(commands, "group", functools.cache(commands.group.__wrapped__))  # apart from the real ones
    studies.add()
    done = CliRunner().invoke(commands.group(""), ["colours", "--help"], env={"COLUMNS": "160"})
    assert (done.exit_code, "Who names the colours." in done.output) == (0, True), done.output


def test_a_study_that_names_no_options() -> None:
    class Plain:
        """Nothing."""

    with pytest.raises(TypeError, match="Plain names no options"):
        options_of(Plain)
    assert options_of(colours.Colours) is colours.ColourOptions
