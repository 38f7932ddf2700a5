"""The example of `docs/add_a_benchmark.md`, run as it is printed, and its command among those of `truebench`."""

from __future__ import annotations

import functools
import re
import runpy
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.study import colours
from tests.support.runs import ROOT, Done, script, write_jsonl
from truebench_hf.cli import commands, studies
from truebench_hf.results.folder import Results

PAGE = (ROOT / "docs" / "add_a_benchmark.md").read_text(encoding="utf-8")


CODE = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]


@pytest.fixture
def run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Done]]:
    """The printed benchmark, in a file of its own as the page has it, run in this process."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setenv("COLUMNS", "160")
    command = re.search(r"^python (\S+) --data", PAGE, re.MULTILINE)
    assert command
    file = tmp_path / command[1]

    def play(*words: str, code: str = CODE) -> Done:
        file.write_text(code, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", [str(file), *words])
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(file), run_name="__main__")
        return Done(int(ended.value.code or 0), *capsys.readouterr())

    yield play
    for number, handler in handlers.items():  # which the program leaves behind, since its process ends
        signal.signal(number, handler)


@pytest.fixture
def arguments(tmp_path: Path) -> dict[str, str]:
    model = script(tmp_path / "model.json", [{"contains": "snow", "reply": "white"}])
    data = write_jsonl(
        tmp_path / "things.jsonl", [{"thing": "snow", "colour": "white"}, {"thing": "sky", "colour": "blue"}]
    )
    return {"--data": data, "--model": model, "--out": str(tmp_path / "out")}


def words(arguments: dict[str, str]) -> list[str]:
    return [word for pair in arguments.items() for word in pair]


def test_a_benchmark_is_thirty_lines_with_one_import() -> None:
    lines = [line for line in CODE.splitlines() if line.strip()]
    assert len(lines) <= 30
    assert [line for line in lines if "import" in line] == ["from truebench_hf import bench"]


@pytest.mark.parametrize(
    ("sky", "code", "complaint", "score"),
    [
        ({"reply": "red"}, 0, "", (0.5, 2, 0)),
        ({"error": "down"}, 3, "truebench: 1 item could not be scored, so the exit code is 3\n", (1.0, 1, 1)),
    ],
)
def test_the_printed_benchmark_runs_and_says_what_it_leaves_unscored(
    run: Callable[..., Done], arguments: dict[str, str], sky: dict[str, str], code: int, complaint: str,
    score: tuple[float, int, int],
) -> None:  # fmt: skip
    rules = [{"contains": "snow", "reply": "white"}, {"contains": "sky", **sky}]
    script(Path(arguments["--model"].partition(":")[2]), rules)
    done = run(*words(arguments))
    assert (done.returncode, done.stderr) == (code, complaint)
    assert f"{100 * score[0]:.2f}" in done.stdout
    folder = Results.open(arguments["--out"])
    right = folder.tables["scores"].rows[0]["right"]
    assert (right.value, right.n, right.unscored) == score
    assert folder.info["board"]["main"] == "right"


def test_its_errors_are_one_line(run: Callable[..., Done], tmp_path: Path, arguments: dict[str, str]) -> None:
    snow = {"thing": "snow", "colour": "white"}
    twice, lacking = (
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
        for name, rows in (("twice", [snow, snow]), ("lacking", [snow, {"thing": "sky"}]))
    )
    for option, value, told in (
        ("--data", twice, "'snow' stands twice in the data; give every row a name of its own"),
        ("--data", lacking, "line 2: missing field 'colour'"),
        ("--data", "nowhere.jsonl", "nowhere.jsonl: cannot be read"), ("--limit", "x", "Invalid value for '--limit'"),
        ("--model", "scripted:nowhere.json", "nowhere.json: not a usable script"),
    ):  # fmt: skip
        done = run(*words(arguments | {option: value}))
        assert (done.returncode, told in done.stderr, "Traceback" in done.stderr) == (2, True, False), done.stderr


def test_its_help_is_what_the_class_says(run: Callable[..., Done]) -> None:
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
