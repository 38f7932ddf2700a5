"""`truebench check`: exit codes, pairing, groups and must-pass criteria; and the error rates, simulated."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.support.finished import finished, numbered
from tests.support.runs import command_here
from truebench_hf.comparing.gate_statistics import score_loss, verdicts

OLD = [True] * 240 + [False] * 60


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> str:
    return finished(tmp_path_factory.mktemp("old"), "app", numbered(OLD))


@pytest.mark.parametrize(
    ("outcomes", "more", "code", "text"),
    [
        (OLD, (), 0, "Not worse by more than 3 points"),
        ([True] * 180 + [False] * 120, (), 1, "Worse by more than 3 points"),
        ([True] * 233 + [False] * 67, (), 3, "more instances would decide it"),
        ([True] * 233 + [False] * 67, ("--allow", "unsure"), 0, "Unsure"),
        (OLD, ("--must", "is right"), 1, "must-pass criteria missed"),
        (OLD, ("--must", "no such text"), 2, ""),
        ([None] * 60 + OLD[60:], (), 3, "60 of 300 pairs are undecided"),
    ],
)
def test_exit_codes(
    old: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], outcomes: list[bool | None], more: tuple[str, ...],
    code: int, text: str,
) -> None:  # fmt: skip
    new = finished(tmp_path, "app", numbered(outcomes), allow_unscored=True)
    done = command_here(capsys, "check", new, "--against", old, *more)
    assert (done.returncode, text in done.stdout) == (code, True), done


def test_rows_of_other_ids_are_paired_by_what_they_ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = finished(tmp_path / "a", "app", numbered([True] * 20))
    second = finished(tmp_path / "b", "app", {"new": True, **numbered([True] * 19)})
    done = command_here(capsys, "check", second, "--against", first, "--margin", "50", "--by", "category")
    assert done.returncode == 0, done
    assert "new 1, gone 1" in " ".join(done.stdout.split())
    assert "category: Editing" in done.stdout


@pytest.mark.parametrize("n", [200, *(pytest.param(n, marks=pytest.mark.slow) for n in (50, 1000))])
@pytest.mark.parametrize("margin", [0.0, 0.03])
def test_equal_applications_are_blamed_in_at_most_5_percent(n: int, margin: float) -> None:
    random = np.random.default_rng(n)
    blamed = 0
    for _ in range(4000):
        old, new = (random.random((2, n)) < 0.8).astype(float)
        blamed += verdicts([score_loss(old, new)], [margin]) == ["worse"]
    assert blamed <= 241, "5 % of 4,000 and three standard errors; 8,000 runs gave 4.6 %"


def test_6_points_beyond_the_margin_are_caught_in_80_percent_at_1000_rows() -> None:
    random = np.random.default_rng(0)
    rates = np.array([[0.6], [0.51]])
    caught = sum(
        verdicts([score_loss(*(random.random((2, 1000)) < rates).astype(float))], [0.03]) == ["worse"]
        for _ in range(500)
    )
    assert caught >= 400, caught
