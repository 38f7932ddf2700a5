"""A batch of completions scored: criteria written where there are none, judged, and held against another judge."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from truebench_hf.api.judge import Judge
from truebench_hf.data.case import Case
from truebench_hf.engine.pool import bounded
from truebench_hf.hashing import canonical, digest
from truebench_hf.models.asking import Problem
from truebench_hf.rewards.shapes import reward_of
from truebench_hf.rewards.step import Scored, Step, why
from truebench_hf.rewards.writer import Writer


@dataclass(frozen=True)
class Scoring:
    """Who is asked, and how verdicts become rewards. `share` is that of the completions the held-out judge sees."""

    judge: Judge
    held_out: Judge | None
    share: float
    writer: Writer
    language: str
    shape: str
    penalty: float

    async def step(self, cases: Sequence[Case]) -> Step:
        """Every case scored, equal ones once. On the loop of the writer."""

        async def one(case: Case) -> tuple[Case, Scored]:
            return case, await self._scored(case)

        unique = dict.fromkeys(cases)
        scored = bounded(unique, one, max(1, len(unique)))  # the callers know their limits
        made = {case: its async for case, its in scored}
        return Step([made[case] for case in cases], self.held_out is not None)

    async def _scored(self, case: Case) -> Scored:
        ready = await self._with_criteria(case)
        if isinstance(ready, Problem):
            return Scored(None, ready.text)
        asked = [self.judge]
        if self.held_out is not None and _chosen(ready, self.share):
            asked.append(self.held_out)
        judged = await asyncio.gather(*(judge.verdicts(ready) for judge in asked))
        reward, *others = (reward_of(verdicts, self.shape, self.penalty) for verdicts in judged)
        return Scored(reward, why(judged[0]), others[0] if others else None)

    async def _with_criteria(self, case: Case) -> Case | Problem:
        """The case with the criteria to be judged."""
        if not case.criteria:
            found = await self.writer.checklist(case, self.language)
            if isinstance(found, Problem):
                return found
            return replace(case, criteria=found, benchmark="tick")
        return case


def _chosen(case: Case, share: float) -> bool:
    """Whether the held-out judge is asked about a case: by what it says, so that it stays so when training goes on."""
    drawn = int(digest(canonical(["held out", case.instruction, case.response]))[:13], 16) / 16**13
    return drawn < share
