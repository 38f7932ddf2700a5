"""Meta-judges: they read what the base judges wrote about a disputed rubric and decide it (paper 003, section 3.3.2).

They see every decided base judge's verdict and rationale, without names and in an order drawn for each meta-judge, so
that neither a judge's reputation nor its place can sway them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.judging.case import Case, sections
from truebench_hf.judging.judge import PASS_FAIL, Judge, JudgeSettings
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Label, Verdict

_WORDS: Mapping[Label | None, str] = {label: word for word, label in PASS_FAIL.items()}


@dataclass
class MetaJudge:
    """One meta-judge of a run. `decides`: it gives a probability rather than text; `structured`: auto, on or off."""

    caller: Caller
    prompts: Prompts
    sampling: Sampling
    seed: int
    decides: bool = False
    threshold: float = 0.5
    structured: str = "auto"

    def __post_init__(self) -> None:
        settings = JudgeSettings(structured=self.structured, threshold=self.threshold, sampling=self.sampling)
        self._judge = Judge(self.caller, settings, self.prompts)

    async def verdict(self, name: str, case: Case, base: Sequence[Verdict]) -> Verdict:
        """Decide the one criterion of `case`. `name` is the judgment's, and with the seed sets the order of `base`."""
        order = random.Random(f"{self.seed} {name} {self.caller.model.spec}")
        decided = [verdict for verdict in base if verdict.label in _WORDS]
        values = _values(case, order.sample(decided, len(decided)))
        if self.decides:
            state = self.prompts.render("meta_judge", **values, decision=True, structured=False)
            (verdict,) = await self._judge.by_probability(case.criteria, state)
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
