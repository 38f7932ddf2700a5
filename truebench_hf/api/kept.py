"""What a `Judge` holds while it lives: its models, its ledger, and the judge made of them, all on one loop."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.data.judged import Case
from truebench_hf.engine.ledger import CacheOptions, Calls, open_cache
from truebench_hf.engine.pool import bounded, progress
from truebench_hf.judging import judge as judging
from truebench_hf.judging.judge import CaseJudge, NoJudge
from truebench_hf.judging.sample_prompts import check_judge_prompts
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatModel
from truebench_hf.models.spec import open_model
from truebench_hf.prompts import Prompts
from truebench_hf.types import Verdict

_MANY = 8  # cases from which a bar is worth showing
Opening = tuple[str, dict[str, str], str | None]  # spec, provider options, base URL


@dataclass(frozen=True)
class Kept:
    """The judge behind a `Judge`. Made, used and closed on one event loop."""

    judge: CaseJudge
    models: Sequence[ChatModel]
    stores: Sequence[Calls]
    cases: int  # judged at a time

    @classmethod
    async def opened(
        cls, openings: Sequence[Opening], settings: judging.JudgeSettings, prompts: Prompts, concurrency: int,
        caching: CacheOptions, offline: bool = False,
    ) -> Kept:  # fmt: skip
        """Open the models: a judge, and who gets a cascade's rest; none for rules alone. The cache is closed with them.

        With `offline` they are asked nothing, and need no key.
        """
        if openings and prompts.replaced:
            check_judge_prompts(settings, prompts)
        models = [open_model(spec, arguments, url, not offline) for spec, arguments, url in openings]
        ledger, cache = Calls(Path(":memory:")), open_cache(caching)
        roles = zip(models, ("judge", "cascade"), strict=False)
        callers = [Caller(model, ledger, role, concurrency, cache, ask=not offline) for model, role in roles]
        cases = 2 * max((caller.concurrency for caller in callers), default=concurrency)
        judge = judging.CriteriaJudge(callers[0], settings, prompts, *callers[1:]) if callers else NoJudge()
        return cls(judge, models, [ledger, cache] if cache else [ledger], cases)

    async def all(self, cases: Sequence[Case]) -> list[tuple[Verdict, ...]]:
        """The verdicts on cases, many judged at a time; in their order."""
        done: dict[int, tuple[Verdict, ...]] = {}
        bar = progress({"judgments": len(cases)}) if len(cases) >= _MANY else nullcontext(lambda name: None)

        async def judged(place: int) -> tuple[int, tuple[Verdict, ...]]:
            case = cases[place]
            if case.response is None:
                return place, tuple(Verdict(criterion, None, "there is no answer") for criterion in case.criteria)
            return place, await self.judge.verdicts(case)

        with bar as step:
            async for place, verdicts in bounded(range(len(cases)), judged, self.cases):
                done[place] = verdicts
                step("judgments")
        return [done[place] for place in range(len(cases))]

    async def close(self) -> None:
        """Close models and stores."""
        try:
            for model in self.models:
                await model.close()
        finally:
            for store in self.stores:
                store.close()
