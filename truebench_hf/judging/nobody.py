"""Judging without a judge: what can be counted is decided, and the rest is left open."""

from __future__ import annotations

from truebench_hf.data.case import Case
from truebench_hf.judging.rules.deciding import ruled
from truebench_hf.options import NOBODY
from truebench_hf.types import Verdict

OPEN = "no judge: only what can be counted is decided"


class NoJudge:
    """Judges by rules alone and asks no model."""

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """One verdict per criterion of the case, in order; what no rule decides has no label."""
        outcome = ruled(case, "decide")
        return outcome.joined([Verdict(criterion, None, OPEN, NOBODY) for criterion in outcome.rest.criteria])
