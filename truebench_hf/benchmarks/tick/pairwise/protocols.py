"""The four protocols by which a judge comes to a preference between two responses (paper 004, section 3.2.2)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace

from truebench_hf.benchmarks.tick.pairwise.labels import Decided
from truebench_hf.benchmarks.tick.pairwise.rows import Pair
from truebench_hf.benchmarks.tick.source import Listed
from truebench_hf.data.case import Case
from truebench_hf.judging.judge import Judge, JudgeSettings
from truebench_hf.judging.ratings import prefer, rate
from truebench_hf.metrics.pass_rate import checklist_share, outcome
from truebench_hf.metrics.preference import preference_from_scores
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.prompts import Prompts

Scored = tuple[float | None, str]  # a response's score, or why it has none


class Asked:
    """One judge under some protocols: `decide(protocol, pair)`.

    `callers` has a name in the ledger per protocol, so that each tells what it cost; `listed` gives the checklist of a
    pair's instruction; `settings` are those of TICK, whose sampling all protocols share.
    """

    def __init__(
        self, callers: Mapping[str, Caller], settings: JudgeSettings, prompts: Prompts,
        listed: Callable[[Pair], Awaitable[Listed]],
    ) -> None:  # fmt: skip
        self._sampling, self._prompts, self._listed = settings.sampling, prompts, listed
        self._schemas = {name: SchemaFallback(caller, settings.structured) for name, caller in callers.items()}
        self._judges = {name: Judge(caller, settings, prompts) for name, caller in callers.items() if name == "tick"}

    async def decide(self, protocol: str, pair: Pair) -> Decided:
        """The preference between the two responses. Raises what the judge's calls raise, but for failed requests."""
        return await PROTOCOLS[protocol](self, pair)

    async def preference(self, pair: Pair) -> Decided:
        """Both responses side by side (appendix G.3), in both orders."""
        found = await prefer(
            self._schemas["preference"], pair.case, pair.response_b, self._prompts, sampling=self._sampling
        )
        return Decided(found.label, found.reason, found.as_given, found.swapped, 2)

    async def direct(self, pair: Pair) -> Decided:
        """Each response rated 1 to 5 by itself (appendix G.4)."""
        return await self._by_score(pair.case, pair.response_b, lambda case: self._rated("direct", case))

    async def check_then_score(self, pair: Pair) -> Decided:
        """Each response rated 1 to 5, with the checklist in the prompt (appendix G.5)."""
        return await self._with_checklist(pair, lambda case: self._rated("check-then-score", case))

    async def tick(self, pair: Pair) -> Decided:
        """The pass rate of each response: every question of the checklist answered YES or NO (appendix G.2)."""
        return await self._with_checklist(pair, self._pass_rate)

    async def _with_checklist(self, pair: Pair, score: Callable[[Case], Awaitable[Scored]]) -> Decided:
        listed = await self._listed(pair)
        if not listed.criteria:
            return Decided(None, f"no checklist: {listed.problem}")
        case = replace(pair.case, criteria=listed.criteria, benchmark="tick")
        return await self._by_score(case, pair.response_b, score)

    async def _by_score(self, case: Case, other: str, score: Callable[[Case], Awaitable[Scored]]) -> Decided:
        """The response with the higher score is preferred; with equal scores it is a tie."""
        (a, why_a), (b, why_b) = await asyncio.gather(score(case), score(replace(case, response=other)))
        why = "; ".join(f"{name}: {reason}" for name, reason in (("A", why_a), ("B", why_b)) if reason)
        return Decided(preference_from_scores(a, b), why, scores=(a, b))

    async def _rated(self, protocol: str, case: Case) -> Scored:
        found = await rate(self._schemas[protocol], case, self._prompts, sampling=self._sampling)
        return (None, found.reason) if found.value is None else (found.value, "")

    async def _pass_rate(self, case: Case) -> Scored:
        verdicts = await self._judges["tick"].verdicts(case)
        open_ones = [(n, verdict) for n, verdict in enumerate(verdicts, 1) if verdict.label not in ("yes", "no")]
        if open_ones:
            return None, "; ".join(f"question {n} is undecided ({verdict.reason})" for n, verdict in open_ones)
        return checklist_share([outcome(v.label, v.criterion.weight) for v in verdicts]), ""


PROTOCOLS: Mapping[str, Callable[[Asked, Pair], Awaitable[Decided]]] = {
    "preference": Asked.preference,
    "direct": Asked.direct,
    "check-then-score": Asked.check_then_score,
    "tick": Asked.tick,
}
