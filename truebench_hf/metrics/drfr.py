"""Decomposed requirements following ratio (paper 004, section 3.1.2, after InFoBench): passed questions of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import Label, decide, ratio


@dataclass(frozen=True)
class Drfr:
    """`value` (0..1) = `passed` / `n` decided criteria, None without any; `undecided` criteria are left out of both."""

    value: float | None
    passed: int
    n: int
    undecided: int


def drfr(checklists: Sequence[Sequence[Label]]) -> Drfr:
    """DRFR of a list of checklists, each a list of "yes"/"no" answers; None or "unknown" is undecided.

    Every criterion weighs the same, so long checklists weigh more than in the mean of pass rates. Raises `UserError`
    for other labels.
    """
    answers = [decide(label) for checklist in checklists for label in checklist]
    passed, failed = answers.count(True), answers.count(False)
    decided = passed + failed
    return Drfr(ratio(passed, decided), passed, decided, undecided=len(answers) - decided)
