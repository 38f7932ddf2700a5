"""Whether an answer does what was asked, measured against a baseline answer (paper 002, section 3.2, appendix A)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from truebench_hf.errors import unknown
from truebench_hf.judging.choice import Choice, read_choice
from truebench_hf.judging.grounding.material import material, shown_answer
from truebench_hf.judging.grounding.types import Eligibility, RatingLabel, Source
from truebench_hf.judging.listening import Decided, tell
from truebench_hf.judging.rules.deciding import measured
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

Variant = Literal["request", "full"]
VARIANTS: tuple[Variant, ...] = get_args(
    Variant
)  # what the judge sees: the request alone, or the full prompt (Table 4)
ELIGIBILITY_PROMPTS = ("eligibility",)
WORDS: Mapping[str, RatingLabel] = {"no issues": "no_issues", "minor issues": "minor", "major issues": "major"}
# As the paper's own template has them, under this key.
PAPER_KEY = "Instruction Following"
PAPER_WORDS: Mapping[str, RatingLabel] = {
    "No Issues": "no_issues", "Minor Issue(s)": "minor", "Major Issue(s)": "major",
}  # fmt: skip


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
        found = await self._rating(source, answer, baseline)
        score = None if found.rating is None else float(found.rating != "major")
        tell(Decided("eligibility", answer, found.judge, found.rating, score, found.reason))
        return found

    async def _rating(self, source: Source, answer: str, baseline: str) -> Eligibility:
        judge = self.caller.model.spec
        if not answer.strip():
            return Eligibility("major", "the answer is empty", judge)
        seen = source if self.variant == "full" else Source(source.request)
        values = material(seen, answer, baseline)
        figures = (
            "" if self.rules == "off" else measured(f"{seen.system}\n{seen.request}".strip(), answer, lengths=True)
        )
        values |= {"response": shown_answer(answer), "baseline": shown_answer(baseline), "measured": figures}

        def request(structured: bool) -> ChatRequest:
            text = self.prompts.render("eligibility", **values, structured=structured)
            schema = _schema() if structured else None
            return ChatRequest((Message("user", text),), self.sampling, schema=schema, example=_example(structured))

        found = await self.schemas.ask(request, lambda made: ask(self.caller, made, _read, _again, who="the judge"))
        if isinstance(found, Problem):
            return Eligibility(None, found.text, judge)
        return Eligibility(found.value, found.reason, judge)


def _read(text: str, truncated: bool) -> Choice[RatingLabel] | Problem:
    return Problem("it is cut off") if truncated else read_rating(text)


def read_rating(text: str) -> Choice[RatingLabel] | Problem:
    """The rating that an answer states, in the words asked for or in those of the paper's template. Never raises."""
    ours, papers = read_choice(text, "rating", WORDS), read_choice(text, PAPER_KEY, PAPER_WORDS)
    if isinstance(ours, Problem) and f'"{PAPER_KEY}"' in text and '"rating"' not in text:
        return papers
    return ours


def _again(problem: str) -> str:
    return (
        f"Your answer cannot be used: {problem}. Rate the test response again, in the form asked for above, and give the "
        "rating once: no issues, minor issues or major issues, under the key `rating` of one JSON object at the end."
    )


def _schema() -> dict[str, Any]:
    fields = {"reason": {"type": "string"}, "rating": {"type": "string", "enum": list(WORDS)}}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _example(structured: bool) -> str:
    reason = "The request asks for this; the test response does it in full, the baseline response as well. " * 10
    if structured:
        return f'{{"reason": "{reason}", "rating": "no issues"}}'
    return f'{reason}\n```json\n{{"rating": "no issues"}}\n```'
