"""Who labels: base judges, in a coarse and in a fine pass, and meta-judges (paper 003, section 3.3.2).

Meta-judges read what the base judges wrote about a disputed rubric and decide it. They see every decided base judge's
verdict and rationale, without names and in an order drawn for each meta-judge, so that neither a judge's reputation
nor its place can sway them.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.data.case import Case
from truebench_hf.data.rubrics import Item
from truebench_hf.judging.case import sections
from truebench_hf.judging.judge import Judge, JudgeSettings
from truebench_hf.judging.rules.deciding import ruled
from truebench_hf.judging.verdicts import PASS_FAIL
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Label, Verdict

_WORDS: Mapping[Label | None, str] = {label: word for word, label in PASS_FAIL.items()}


@dataclass(frozen=True)
class Pass:
    """The base judges in one pass, in the order of the options."""

    judges: tuple[Judge, ...]

    async def columns(
        self, item: Item, chosen: Sequence[int], coarse: Mapping[int, Sequence[Verdict]] | None = None
    ) -> dict[int, tuple[Verdict, ...]]:
        """The verdicts of all judges on each rubric at the positions `chosen`.

        A judge that gives probabilities is not asked again about what it decided in the `coarse` pass: its answer to a
        question does not depend on what else is asked.
        """
        if not chosen or not self.judges:
            return {}
        case = item.only(chosen)

        async def column(place: int, judge: Judge) -> Sequence[Verdict]:
            if coarse is not None and judge.settings.level == "decision":
                return [coarse[i][place] for i in chosen]
            return await judge.verdicts(case)

        by_judge = await asyncio.gather(*(column(place, judge) for place, judge in enumerate(self.judges)))
        return dict(zip(chosen, zip(*by_judge, strict=True), strict=True))


@dataclass
class MetaJudge:
    """One meta-judge of a run. `decides`: it gives a probability rather than text; `structured`: auto, on or off.

    With `rules` on it is told what programs measured: what they decide no judge disputes.
    """

    caller: Caller
    prompts: Prompts
    sampling: Sampling
    seed: int
    decides: bool = False
    threshold: float = 0.5
    structured: str = "auto"
    rules: str = "off"

    def __post_init__(self) -> None:
        settings = JudgeSettings(structured=self.structured, threshold=self.threshold, sampling=self.sampling)
        self._judge = Judge(self.caller, settings, self.prompts)

    async def verdict(self, name: str, case: Case, base: Sequence[Verdict]) -> Verdict:
        """Decide the one criterion of `case`. `name` is the rubric's id, and with the seed sets the order of `base`."""
        order = random.Random(f"{self.seed} {name} {self.caller.model.spec}")
        decided = [verdict for verdict in base if verdict.label in _WORDS]
        case = ruled(case, "off" if self.rules == "off" else "evidence").rest
        values = _values(case, order.sample(decided, len(decided)))
        if self.decides:
            state = self.prompts.render("meta_judge", **values, decision=True, structured=False)
            (verdict,) = await self._judge.by_probability(case.criteria, values["criteria"], state)
        else:
            (verdict,) = await self._judge.by_text("meta_judge", case.criteria, values | {"decision": False})
        return verdict


def _values(case: Case, shuffled: Sequence[Verdict]) -> dict[str, Any]:
    opinions = [
        {"verdict": _WORDS[verdict.label], "reason": verdict.reason or "(no reason given)"} for verdict in shuffled
    ]
    # The rationales stand between tags too, and must not be able to close them.
    values = sections(case, beside=[opinion["reason"] for opinion in opinions])
    return values | {"opinions": opinions}
