"""Ratings of a whole response by a judge: 1 to 5 (paper 004, appendix G.4 and G.5) or 1 to 10, as in WildBench."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from truebench_hf.judging.case import Case, sections
from truebench_hf.judging.choice import read_choice
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

SCALES = (5, 10)


@dataclass(frozen=True, slots=True)
class Rating:
    """A whole number from 1 to the end of the scale; None where the judge settled none, and `reason` says why."""

    value: int | None
    reason: str = ""


async def rate(
    schemas: SchemaFallback, case: Case, prompts: Prompts, scale: int = 5, *,
    sampling: Sampling = Sampling(max_tokens=8192), sample: int = 0,
) -> Rating:  # fmt: skip
    """How good the response of a case is, from 1 to `scale` (5 or 10).

    The criteria of the case, where it has any, are shown as a checklist that helps to rate (check-then-score); without
    any this is direct scoring. An answer that names no rating, or two, is asked again.
    """
    if scale not in SCALES:
        raise ValueError(f"scale is one of {SCALES}")
    words = {str(value): value for value in range(1, scale + 1)}

    def request(structured: bool) -> ChatRequest:
        text = prompts.render("rating", **sections(case), most=scale, structured=structured)
        schema = _schema(scale) if structured else None
        return ChatRequest((Message("user", text),), sampling, sample, schema, example=_example(structured))

    def read(text: str, truncated: bool) -> Rating | Problem:
        found = read_choice(text, "rating", words)
        return found if isinstance(found, Problem) else Rating(found.value, found.reason)

    def repair(problem: str) -> str:
        return (
            f"Your answer cannot be used: {problem}. Rate again, and give the rating once: a whole number from 1 to "
            f"{scale} under the key `rating` of one JSON object at the end of your answer, in the form asked for above."
        )

    found = await schemas.ask(request, lambda made: ask(schemas.caller, made, read, repair, who="the judge"))
    return Rating(None, found.text) if isinstance(found, Problem) else found


def _schema(scale: int) -> dict[str, Any]:
    fields = {"reason": {"type": "string"}, "rating": {"type": "integer", "minimum": 1, "maximum": scale}}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _example(structured: bool) -> str:
    reason = "The response does what was asked in most respects, with a weakness here and there. " * 9
    return f'{{"reason": "{reason}", "rating": 3}}' if structured else f'{reason}\n```json\n{{"rating": 3}}\n```'
