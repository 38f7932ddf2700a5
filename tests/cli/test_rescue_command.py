"""`truebench study rescue` as it is met: a command names it, it says what it saved, and the command goes on."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.test_disk import COUNT, Run, one_line
from tests.support.runs import command_here
from truebench_hf.engine.ledger import PAGE


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    run = Run(tmp_path)
    assert run(capsys).returncode == 0
    return run


def test_a_torn_ledger_is_rescued_and_the_run_goes_on(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    ledger, judged = run.out / "ledger.sqlite", (run.out / "judgments.jsonl").read_bytes()
    asked = run.asked()
    os.truncate(ledger, ledger.stat().st_size * 2 // 3)
    done = run(capsys)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"truebench: {ledger} is damaged (")
    assert f"`truebench study rescue {run.out}` keeps all answers in it that can still be read\n" in done.stderr
    done = command_here(capsys, "study", "rescue", str(run.out))
    assert (done.returncode, done.stderr) == (0, "")
    saved, lost, moved = done.stdout.splitlines()
    kept = json.loads(saved.split(": ")[1].split(" (")[0])
    assert 0 < kept < 2 * COUNT
    assert (
        lost == f"answers lost, as far as can be told: {2 * COUNT - kept}; the command of the run asks for them again"
    )
    assert moved == f"the damaged file is {ledger}.damaged now"
    done = run(capsys)
    assert done.returncode == 0
    assert f"ledger.sqlite: damaged or gone answers: {2 * COUNT - kept}; they are asked for again" in done.stderr
    assert asked < run.asked() <= asked + 2 * COUNT - kept
    assert (run.out / "judgments.jsonl").read_bytes() == judged
    done = command_here(capsys, "study", "rescue", str(run.out))
    assert done.stdout == f"{run.out}: nothing is damaged; answers: judge {COUNT}, model {COUNT}\n"


def test_where_nothing_could_be_saved_the_run_names_what_it_would_replace(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    (run.out / "ledger.sqlite").write_bytes(b"no database" * 999)
    done = command_here(capsys, "study", "rescue", str(run.out))
    assert done.stdout.splitlines()[:2] == [
        "answers saved: 0",
        f"answers lost, as far as can be told: {2 * COUNT}; the command of the run begins anew, and names first what "
        "results it would replace",
    ]
    done = run(capsys)
    assert done.returncode == 2
    assert "judgments.jsonl, scores.json" in done.stderr
    assert "move these files away to begin anew" in done.stderr


def test_run_json_is_made_again(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    before = (run.out / "run.json").read_text()
    (run.out / "run.json").write_text(before[:99])
    done = command_here(capsys, "study", "rescue", str(run.out))
    assert done.stdout.splitlines()[1] == f"{run.out}: run.json was lost or torn, and is made again"
    assert (run.out / "run.json").read_text() == before


def test_a_full_disk_keeps_the_damaged_file(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = run.out / "ledger.sqlite"
    with ledger.open("r+b") as file:
        file.write(bytes(PAGE))
    content = ledger.read_bytes()
    one_line(run.cramped(50_000, "study", "rescue", str(run.out)), "ledger.sqlite.part")
    assert ledger.read_bytes() == content
    done = command_here(capsys, "study", "rescue", str(run.out))
    assert done.stdout.startswith(f"answers saved: {2 * COUNT} (judge {COUNT}, model {COUNT})\n")
    done = run(capsys)
    assert (done.returncode, done.stderr, run.asked()) == (0, "", COUNT)


def test_answers_that_were_fetched_without_their_ledger_are_judged(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run.out.with_name("fetched")
    generate = ["study", "generate", *run.arguments[1:5], "--out", str(out)]
    assert command_here(capsys, *generate).returncode == 0
    (out / "ledger.sqlite").unlink()
    done = command_here(capsys, *generate)
    assert done.returncode == 2
    assert "has lost its ledger.sqlite" in done.stderr
    assert "responses.jsonl replaced" in done.stderr
    done = command_here(capsys, "judge", *run.arguments[5:7], "--out", str(out))
    assert (done.returncode, done.stderr) == (0, "")


def test_a_ledger_that_is_write_protected_is_left_alone(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the system's word: whoever runs as root may write anywhere."""
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    one_line(command_here(capsys, "study", "rescue", str(run.out)), "ledger.sqlite: it is write-protected")
    assert not list(run.out.glob("*damaged*"))


def test_what_has_no_ledger(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(capsys, "study", "rescue", str(tmp_path))
    assert (done.returncode, done.stderr) == (
        2, f"truebench: {tmp_path}: has no ledger; give the folder of a run, or the file of a cache\n"
    )  # fmt: skip
