"""Whether an answer does what was asked, measured against a baseline answer (paper 002, section 3.2, appendix A)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from truebench_hf.errors import unknown
from truebench_hf.judging.grounding.material import material, shown_answer
from truebench_hf.judging.grounding.prescribed import ask_as_prescribed, read_rating
from truebench_hf.judging.grounding.types import Eligibility, RatingLabel, Source
from truebench_hf.judging.rules.deciding import measured
from truebench_hf.judging.signed_prompt import ask_by_prompt
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts

Variant = Literal["request", "full"]
VARIANTS: tuple[Variant, ...] = get_args(
    Variant
)  # what the judge sees: the request alone, or the full prompt (Table 4)
ELIGIBILITY_PROMPTS = ("eligibility",)
WORDS: Mapping[str, RatingLabel] = {"no issues": "no_issues", "minor issues": "minor", "major issues": "major"}
_REASON = "The request asks for this; the test response does it in full, the baseline response as well. " * 10


class EligibilityJudge:
    """One judge of eligibility. `variant` is request (the paper's choice for all its judges) or full.

    With `rules` on it is told what programs measured: length, and the language and format that the request names.
    """

    def __init__(
        self, caller: Caller, variant: str, prompts: Prompts, *,
        sampling: Sampling = Sampling(max_tokens=8192), structured: str = "auto", rules: str = "off",
    ) -> None:  # fmt: skip
        if variant not in VARIANTS:
            raise unknown("eligibility variant", variant, VARIANTS)
        self.caller, self.variant, self.prompts, self.sampling = caller, variant, prompts, sampling
        self.schemas, self.rules = SchemaFallback(caller, structured), rules

    async def rate(self, source: Source, answer: str, baseline: str) -> Eligibility:
        """How well `answer` follows the instructions of the request, with `baseline` as the measure.

        An empty answer has a major issue without a call: a lenient judge would else let it pass as accurate.
        """
        judge = self.caller.model.spec
        if not answer.strip():
            return Eligibility("major", "the answer is empty", judge)
        seen = source if self.variant == "full" else Source(source.request)
        values = material(seen, answer, baseline)
        figures = (
            "" if self.rules == "off" else measured(f"{seen.system}\n{seen.request}".strip(), answer, lengths=True)
        )
        values |= {"response": shown_answer(answer), "baseline": shown_answer(baseline), "measured": figures}
        if not self.prompts.is_signed("eligibility"):
            found = await ask_as_prescribed(
                self.caller, self.prompts, "eligibility", values, self.sampling, read_rating
            )
            return Eligibility(None, found.text, judge) if isinstance(found, Problem) else Eligibility(*found, judge)
        rated = await ask_by_prompt(
            self.schemas,
            self.prompts,
            "eligibility",
            values,
            {"rating": WORDS},
            sampling=self.sampling,
            reason=_REASON,
        )
        return Eligibility(rated.labels.get("rating"), rated.problem or rated.reason, judge)
