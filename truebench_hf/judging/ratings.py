"""Ratings by a judge in whole numbers from 1 on: one of a whole response, or several at once.

1 to 5 as in paper 004 (appendix G.4 and G.5), 1 to 10 as in WildBench, several as in FLASK and BiGGen (paper 000, E).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.judging.case import Case, sections
from truebench_hf.judging.choice import Choice, read_choice, stated
from truebench_hf.judging.listening import Decided, tell
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

SCALES = (5, 10)
_USUAL = Sampling(max_tokens=8192)


@dataclass(frozen=True, slots=True)
class Rating:
    """A whole number from 1 to the end of the scale; None where the judge settled none, and `reason` says why."""

    value: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Ratings:
    """The ratings by key that the judge settled. `reason` is what it said, `problem` why others are missing."""

    values: Mapping[str, int]
    reason: str = ""
    problem: str = ""


async def rate(
    schemas: SchemaFallback, case: Case, prompts: Prompts, scale: int = 5, *,
    sampling: Sampling = _USUAL, sample: int = 0,
) -> Rating:  # fmt: skip
    """How good the response of a case is, from 1 to `scale` (5 or 10).

    The criteria of the case, where it has any, are shown as a checklist that helps to rate (check-then-score); without
    any this is direct scoring. An answer that names no rating, or two, is asked again.
    """

    def prompt(structured: bool) -> str:
        return prompts.render("rating", **sections(case), most=scale, structured=structured)

    found = await ask_ratings(schemas, prompt, ("rating",), scale, sampling=sampling, sample=sample)
    return Rating(found.values.get("rating"), found.problem or found.reason)


async def ask_ratings(
    schemas: SchemaFallback, prompt: Callable[[bool], str], keys: Sequence[str], scale: int, *,
    sampling: Sampling = _USUAL, sample: int = 0,
) -> Ratings:  # fmt: skip
    """A rating from 1 to `scale` (5 or 10) under each key of one answer; `prompt(structured)` asks for them.

    An answer that lacks one, or names two for one key, is asked again. Where no answer can be read in full, a key keeps
    a rating on which all answers that speak of it agree.
    """
    if scale not in SCALES:
        raise ValueError(f"scale is one of {SCALES}")
    answers = _Answers(keys, scale)

    def request(structured: bool) -> ChatRequest:
        schema = _schema(keys, scale) if structured else None
        example = _example(keys, structured)
        return ChatRequest((Message("user", prompt(structured)),), sampling, sample, schema, example=example)

    def repair(problem: str) -> str:
        which, under = ("the rating", "the key") if len(keys) == 1 else ("each rating", "each of the keys")
        named = ", ".join(f"`{key}`" for key in keys)
        return (
            f"Your answer cannot be used: {problem}. Rate again, and give {which} once: a whole number from 1 to "
            f"{scale} under {under} {named} of one JSON object at the end of your answer, in the form asked for above."
        )

    found = await schemas.ask(request, lambda made: ask(schemas.caller, made, answers.read, repair, who="the judge"))
    ratings = answers.agreed(found.text) if isinstance(found, Problem) else found
    for key in keys:
        value = ratings.values.get(key)
        reason = ratings.problem if value is None else ratings.reason
        tell(Decided(key, "", schemas.caller.model.spec, None, None if value is None else float(value), reason))
    return ratings


class _Answers:
    """All answers to one question so far: what each said under each key (None: nothing that can be used)."""

    def __init__(self, keys: Sequence[str], scale: int) -> None:
        self._words = {str(value): value for value in range(1, scale + 1)}
        self._said: dict[str, set[int | None]] = {key: set() for key in keys}

    def read(self, text: str, truncated: bool) -> Ratings | Problem:
        """The ratings of an answer that can be read in full."""
        found = {key: read_choice(text, key, self._words) for key in self._said}
        chosen = {key: one for key, one in found.items() if isinstance(one, Choice)}
        if len(chosen) == len(found):
            return Ratings({key: one.value for key, one in chosen.items()}, next(iter(chosen.values())).reason)
        for key in found:
            if key in chosen:
                self._said[key].add(chosen[key].value)
            elif stated(text, key):
                self._said[key].add(None)
        return next(one for one in found.values() if isinstance(one, Problem))

    def agreed(self, problem: str) -> Ratings:
        """The ratings on which all answers that speak of a key agree; `problem` is why there are no others."""
        alike = {key: next(iter(said)) for key, said in self._said.items() if len(said) == 1}
        return Ratings({key: value for key, value in alike.items() if value is not None}, problem=problem)


def _schema(keys: Sequence[str], scale: int) -> dict[str, Any]:
    rating = {"type": "integer", "minimum": 1, "maximum": scale}
    fields = {"reason": {"type": "string"}, **dict.fromkeys(keys, rating)}
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _example(keys: Sequence[str], structured: bool) -> str:
    reason = "The response does what was asked in most respects, with a weakness here and there. " * (7 + 2 * len(keys))
    found = json.dumps(dict.fromkeys(keys, 3))
    return f'{{"reason": "{reason}", {found[1:]}' if structured else f"{reason}\n```json\n{found}\n```"
