"""`--fail-under`: one option for all commands that score, held against the score that a leaderboard ranks by."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.finished import finished, numbered
from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.study.ranking import Board, BoardColumn, BoardRow
from truebench_hf.types import Score


def board(*values: float | None, title: str = "Final") -> Board:
    rows = [BoardRow(f"m{place}", "", {"main": Score(value, 1)}) for place, value in enumerate(values)]
    return Board("main", (BoardColumn("main", title),), tuple(rows))


def test_a_score_at_the_gate_passes_it() -> None:
    for percent in range(2, 101):
        assert board(percent / 100).below(percent) == "", "100 * 0.57 is less than 57"
        assert f"under --fail-under {percent}" in board(percent / 100 - 0.0001).below(percent)


@pytest.mark.parametrize(
    ("values", "title", "line"),
    [
        ((0.5,), "Final", "the final score is 50.00, under --fail-under 90"),
        ((0.95, 0.5), "Pass rate", "the pass rate of m1 is 50.00, under --fail-under 90"),
        ((None,), "Overall", "there is no overall score to hold against --fail-under 90: too little is decided"),
    ],
)
def test_the_line_names_the_score(values: tuple[float | None, ...], title: str, line: str) -> None:
    assert board(*values, title=title).below(90) == line


def test_run_and_judge_and_tick_exit_with_1_below_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path(finished(tmp_path, "Ada", numbered([True] * 3 + [False])))
    same = ["--data", str(tmp_path / "data.jsonl"), "--judge", f"scripted:{tmp_path}/judge.json"]
    run = ["run", *same, "--model", f"scripted:{tmp_path}/Ada.json", "--out", str(folder)]
    assert command_here(capsys, *run, "--fail-under", "75").returncode == 0
    done = command_here(capsys, *run, "--fail-under", "75.1")
    assert (done.returncode, done.stderr) == (1, "truebench: the overall score is 75.00, under --fail-under 75.1\n")
    judge = ["judge", *same, "--responses", str(folder / "judgments.jsonl"), "--out", str(tmp_path / "judged")]
    assert command_here(capsys, *judge, "--fail-under", "90").returncode == 1
    assert command_here(capsys, *judge, "--fail-under", "0.9").returncode == 2, "a share in place of a percentage"

    data = write_jsonl(tmp_path / "tick.jsonl", [{"prompt": "Say hi.", "checklist": ["Is it a greeting?"]}])
    asked = script(tmp_path / "asked.json", [{"contains": "greeting", "verdicts": {"Is it a greeting?": "FAIL"}}])
    tick = ["tick", "--data", data, "--model", script(tmp_path / "hi.json", [], {"reply": "hi"}), "--judge", asked]
    done = command_here(capsys, *tick, "--out", str(tmp_path / "tick"), "--fail-under", "50")
    assert (done.returncode, "the pass rate is 0.00, under" in done.stderr) == (1, True), done.stderr
