"""Meta-judges: they read what the base judges wrote about a disputed rubric and decide it (paper 003, section 3.3.2).

They see every decided base judge's verdict and rationale, without names and in an order drawn for each meta-judge, so
that neither a judge's reputation nor its place can sway them.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.case import Case, sections
from truebench_hf.judging.judge import PASS_FAIL
from truebench_hf.judging.verdicts import ask_verdicts, verdict_schema
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, DecisionRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Label, Message, Verdict

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
        self._schemas = SchemaFallback(self.caller, self.structured)

    async def verdict(self, name: str, case: Case, base: Sequence[Verdict]) -> Verdict:
        """Decide the one criterion of `case`. `name` is the judgment's, and with the seed sets the order of `base`."""
        order = random.Random(f"{self.seed} {name} {self.caller.model.spec}")
        decided = [verdict for verdict in base if verdict.label in _WORDS]
        values = _values(case, order.sample(decided, len(decided)))
        return await (self._decision(case, values) if self.decides else self._text(case, values))

    async def _text(self, case: Case, values: dict[str, Any]) -> Verdict:
        def request(structured: bool) -> ChatRequest:
            prompt = self.prompts.render("meta_judge", **values, decision=False, structured=structured)
            schema = verdict_schema(1, list(PASS_FAIL), reasoning=True) if structured else None
            return ChatRequest((Message("user", prompt),), self.sampling, 0, schema)

        (verdict,) = await self._schemas.ask(
            request, lambda made: ask_verdicts(self.caller, made, case.criteria, PASS_FAIL, self.prompts)
        )
        return verdict

    async def _decision(self, case: Case, values: dict[str, Any]) -> Verdict:
        state = self.prompts.render("meta_judge", **values, decision=True, structured=False)
        question = self.prompts.render("decision_question", criterion=values["criteria"][0])
        undecided = Verdict(case.criteria[0], None, "the judge declined this question", self.caller.model.spec)
        try:
            share = (await self.caller.decide(DecisionRequest(state, (question,)))).probabilities[0]
        except RequestFailed as error:
            return replace(undecided, reason=f"the judge gave no answer: {error}")
        if share is None:
            return undecided
        label: Label = "yes" if share >= self.threshold else "no"
        return replace(undecided, label=label, reason=f"P(yes) = {share:.3f}", probability=share)


def _values(case: Case, shuffled: Sequence[Verdict]) -> dict[str, Any]:
    opinions = [
        {"verdict": _WORDS[verdict.label], "reason": verdict.reason or "(no reason given)"} for verdict in shuffled
    ]
    # The rationales stand between tags too, and must not be able to close them.
    values = sections(case, beside=[opinion["reason"] for opinion in opinions])
    return values | {"opinions": opinions}
