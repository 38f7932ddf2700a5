"""Decomposed requirements following ratio (paper 004, section 3.1.2, after InFoBench): passed questions of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import Label, decide, ratio
from truebench_hf.metrics.intervals import clustered_share
from truebench_hf.types import Score


@dataclass(frozen=True)
class Drfr:
    """`value` (0..1) = `passed` / `n` decided criteria, None without any; `undecided` criteria are left out of both.

    `interval` (95 %, 0..1) takes the checklists as its clusters, and is None with fewer than ten of them.
    """

    value: float | None
    passed: int
    n: int
    undecided: int
    interval: tuple[float, float] | None = None

    @property
    def score(self) -> Score:
        """The same, for a report."""
        return Score(self.value, self.n, self.undecided, self.interval)


def drfr(checklists: Sequence[Sequence[Label]]) -> Drfr:
    """DRFR of a list of checklists, each a list of "yes"/"no" answers; None or "unknown" is undecided.

    Every criterion weighs the same, so long checklists weigh more than in the mean of pass rates. Raises `UserError`
    for other labels.
    """
    answers = [[decide(label) for label in checklist] for checklist in checklists]
    passed = [column.count(True) for column in answers]
    decided = [met + column.count(False) for met, column in zip(passed, answers, strict=True)]
    n, met = sum(decided), sum(passed)
    undecided = sum(map(len, answers)) - n
    return Drfr(ratio(met, n), met, n, undecided, clustered_share(passed, decided))
