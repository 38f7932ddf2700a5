"""A cascade: a decision judge settles what it is sure of and hands the doubtful rest on to a reasoning judge.

None of the five papers has this. What is doubtful is what the decision judge leaves open: a probability within its
band, a question it declined, a request that failed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from truebench_hf.judging.case import Case
from truebench_hf.types import Verdict

BAND = (0.2, 0.8)  # of P(yes), where the user names no other
SECOND_LEVELS = ("checklist", "rubric")


class Second(Protocol):
    """Who is asked about the doubtful rest."""

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """One verdict per criterion of the case, in order."""
        ...


async def hand_on(case: Case, decided: Sequence[Verdict], second: Second) -> tuple[Verdict, ...]:
    """The verdicts of a case: those of the first judge where it has a label, those of `second` on all others.

    `second` sees a case with the doubtful criteria alone, and is not asked where there are none. Its verdicts say in
    their reason why they were handed on, and keep its name.
    """
    doubtful = [i for i, verdict in enumerate(decided) if verdict.label is None]
    if not doubtful:
        return tuple(decided)
    rest = await second.verdicts(replace(case, criteria=tuple(case.criteria[i] for i in doubtful)))
    verdicts = list(decided)
    for i, verdict in zip(doubtful, rest, strict=True):
        why = f"handed on ({decided[i].reason})"
        verdicts[i] = replace(verdict, reason=f"{why}: {verdict.reason}" if verdict.reason else why)
    return tuple(verdicts)
