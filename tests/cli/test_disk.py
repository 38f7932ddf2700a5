"""A full disk in the middle of a run: one line that names the folder, and nothing that was finished is lost."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from tests.support import forked
from tests.support.runs import ROOT, Done, command_here, row, script, write_jsonl

FULL = Path("/dev/full")  # takes no byte, as a full disk does
COUNT = 20
needs_dev_full = pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")


class Run:
    """A `truebench run` with long answers; `record` notes what the model is asked."""

    def __init__(self, folder: Path) -> None:
        self.out, self.record = folder / "out", folder / "record.jsonl"
        prompts = [(f"ask {i} " + "x" * 2000, ["is short"]) for i in range(COUNT)]
        data = write_jsonl(folder / "data.jsonl", [row(i, [pair]) for i, pair in enumerate(prompts)])
        model = script(folder / "model.json", [{"contains": "ask", "reply": "y" * 2000}])
        judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
        self.arguments = ["run", "--data", data, "--model", model, "--judge", judge, "--out", str(self.out)]

    def cramped(self, longest: int, *arguments: str) -> Done:
        """This run, or the command given, in a process of its own that cannot write past `longest` bytes of any file."""
        done = forked.truebench(arguments or self.arguments, ROOT, os.environ, longest)
        return Done(done.returncode, done.stdout, done.stderr)

    def __call__(self, capsys: pytest.CaptureFixture[str]) -> Done:
        return command_here(capsys, *self.arguments, "--model-arg", f"record={self.record}")

    def asked(self) -> int:
        return len(self.record.read_text(encoding="utf-8").splitlines()) if self.record.exists() else 0


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def one_line(done: Done, *words: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("truebench: ")
    assert done.stderr.count("\n") == 1, done.stderr
    for word in (*words, "free space", "repeat the command"):
        assert word in done.stderr


def test_answers_that_were_kept_before_the_ledger_was_full_are_not_asked_for_again(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    one_line(run.cramped(60_000), f"--out {run.out}: ", "ledger.sqlite")
    with sqlite3.connect(run.out / "ledger.sqlite") as ledger:
        kept = ledger.execute("SELECT COUNT(*) FROM calls WHERE role = 'model'").fetchone()[0]
    ledger.close()
    assert 0 < kept < COUNT
    done = run(capsys)
    assert (done.returncode, done.stderr) == (0, "")
    assert run.asked() == COUNT - kept


def test_a_disk_that_is_full_from_the_beginning(run: Run) -> None:
    one_line(run.cramped(1_000), f"--out {run.out}: ")
    assert run.asked() == 0, "no answer is paid for that could not be kept"


@needs_dev_full
@pytest.mark.parametrize("name", ["run.json", "judgments.jsonl", "report.html"])
def test_results_that_find_no_room_are_written_by_the_next_call(
    run: Run, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.open

    def cramped(path: Path, mode: str = "r", *given: Any, **more: Any) -> Any:
        return real(FULL, "w", **more) if path == run.out / f"{name}.part" else real(path, mode, *given, **more)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", cramped)
        one_line(run(capsys), f"--out {run.out}: cannot write {name}")
    assert not (run.out / name).exists(), "files are whole or absent"
    assert run.asked() in (0, COUNT)
    assert run(capsys).returncode == 0
    assert run.asked() == COUNT, "nothing is asked for twice"
    assert (run.out / name).stat().st_size


def test_what_other_commands_write(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys).returncode == 0
    one_line(run.cramped(1_000, "label", "out", str(run.out), "--n", "2"), "File too large")


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(111, "Connection refused"), EOFError("marshal data too short")]
)
def test_an_error_that_is_none_of_the_disk_keeps_its_traceback(
    run: Run, error: Exception, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(study: object) -> None:
        raise error

    monkeypatch.setattr("truebench_hf.study.study.Study.run", refused)
    done = run(capsys)
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert f"{type(error).__name__}: {error}" in done.stderr
