"""Every study, killed in each of its commands and repeated, ends as if nothing had happened; asked again it asks nothing.

The studies are the cases of tests/golden, which hold what comes of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.golden import compare
from tests.golden.case import Case, Step, play, run_command
from tests.golden.cases import COMMANDS
from tests.golden.held import held
from truebench_hf.engine.ledger import Calls

QUICK = {"run-decision", "criteria", "contrast", "tick", "checklist"}
STUDIES = QUICK | {
    "categories", "refine",
    "run", "run-panel", "stages", "refinement", "compare-criteria", "rules", "calibrate", "arbitrate", "taxonomy", "metaeval",
    "metaeval-attacks", "facts", "facts-more", "validate", "pairwise", "flex",
}  # fmt: skip
CASES = [
    pytest.param(case, id=case.name, marks=() if case.name in QUICK else pytest.mark.slow)
    for case in COMMANDS
    if case.name in STUDIES
]
RESULTS = (".jsonl", ".csv", ".yaml", "scores.json", "calibration.json", "rank.json")


def answered() -> dict[str, int]:
    """How many answers the ledgers below this folder hold."""
    counts = {}
    for path in Path().rglob("ledger.sqlite"):
        with closing(sqlite3.connect(path)) as ledger:
            (counts[str(path)],) = ledger.execute("SELECT COUNT(*) FROM calls").fetchone()
    return counts


@pytest.mark.parametrize("case", CASES)
def test_killed_and_repeated_it_ends_the_same(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put, left, killed = Calls.put, 0, 0

    def dying(self: Calls, *arguments: Any, **more: Any) -> Any:
        nonlocal left, killed
        left -= 1
        if left == 0:
            killed += 1
            raise KeyboardInterrupt
        return put(self, *arguments, **more)

    def thrice(step: Step) -> Callable[[], str | None]:
        def play_step() -> str | None:
            nonlocal left
            if not isinstance(step, str):
                return step()
            left = 2
            run_command(step)
            left = 0
            printed = run_command(step)
            before = answered()
            run_command(step)
            assert answered() == before, step
            return printed

        return play_step

    monkeypatch.setattr(Calls, "put", dying)
    play(replace(case, steps=tuple(map(thrice, case.steps))), tmp_path)
    assert killed
    here = {name: text for name, text in held(tmp_path, "").items() if name.endswith(RESULTS)}
    expected = {name: text for name, text in compare.read(case.name).items() if name.endswith(RESULTS)}
    assert not (told := compare.differences(case.name, expected, here)), told
