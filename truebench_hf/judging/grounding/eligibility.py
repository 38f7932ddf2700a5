"""Whether an answer does what was asked, measured against a baseline answer (paper 002, section 3.2, appendix A)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from truebench_hf.errors import unknown
from truebench_hf.judging.grounding.official import ask_signed_or_as_prescribed, read_rating
from truebench_hf.judging.grounding.types import Eligibility, RatingLabel, Source, material
from truebench_hf.judging.rules.deciding import measured
from truebench_hf.models.asking import SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts

Variant = Literal["request", "full"]
# What the judge sees: the request alone, or the full prompt (Table 4).
VARIANTS: tuple[Variant, ...] = get_args(Variant)
ELIGIBILITY_PROMPTS = ("eligibility",)
_WORDS: Mapping[str, RatingLabel] = {"no issues": "no_issues", "minor issues": "minor", "major issues": "major"}
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
        instructions = f"{seen.system}\n{seen.request}".strip()
        values = material(seen, answer, baseline) | {
            "response": answer,
            "baseline": baseline if baseline.strip() else "(the response is empty)",
            "measured": "" if self.rules == "off" else measured(instructions, answer, lengths=True),
        }
        rated = await ask_signed_or_as_prescribed(
            self.schemas, self.prompts, "eligibility", values, {"rating": _WORDS}, read_rating,
            sampling=self.sampling, reason=_REASON,
        )  # fmt: skip
        return Eligibility(rated.labels.get("rating"), rated.problem or rated.reason, judge)
