"""Criteria that hold several demands, taken apart by a model: a reward for half of one criterion is a reward for none."""

from __future__ import annotations

import re
from typing import Any

from truebench_hf.instances import HALF
from truebench_hf.judging.case import Case, sections
from truebench_hf.judging.checklists import folded
from truebench_hf.judging.choice import stated
from truebench_hf.judging.words import visible
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Message

SAMPLING = Sampling(max_tokens=2048)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_LISTED = re.compile(r"(?:^|(?<=[\s(]))\(?\d{1,2}[.)](?=\s)")  # the number of an item, which is no demand
_EXAMPLE = "It asks for two things that can be met apart.\n```json\n"
_EXAMPLE += '{"demands": ["The response does the first thing.", "The response does the second thing."]}\n```'


async def split_criterion(schemas: SchemaFallback, case: Case, prompts: Prompts) -> tuple[str, ...] | Problem:
    """The demands in the one criterion of `case`, in order: several texts, or none where it is a single demand.

    The response is not looked at. A Problem where the model gives no answer that can be used. Raises what
    `Caller.complete` raises, but for a request that failed.
    """
    (criterion,) = case.criteria
    values = sections(Case(case.instruction, "", (Criterion(criterion.text),), case.history))  # without its notes

    def request(structured: bool) -> ChatRequest:
        text = prompts.render("split_criterion", **values, structured=structured)
        schema = _SCHEMA if structured else None
        return ChatRequest((Message("user", text),), SAMPLING, schema=schema, example=_EXAMPLE)

    def read(text: str, cut: bool) -> tuple[str, ...] | Problem:
        return Problem("", True) if cut else read_demands(text, criterion.text)

    return await schemas.ask(request, lambda made: ask(schemas.caller, made, read, _again))


def _again(problem: str) -> str:
    return (
        f"Your answer cannot be used: {problem}. Give the demands of the criterion again, once: as a list of texts under "
        "the key `demands` of one JSON object at the end of your answer, in the form asked for above."
    )


def read_demands(text: str, criterion: str) -> tuple[str, ...] | Problem:
    """The texts under `demands`, none where there is one: a single demand stays as it was written.

    A Problem where they are not stated once, stand twice or repeat the whole, or where their numbers are not those of
    the criterion. Never raises.
    """
    found = stated(text, "demands")  # as it is: signs that nobody sees are part of words in some scripts
    if not found:
        return Problem("it has no JSON object with the key `demands`")
    end, last = found[-1]
    if any(one != last for _, one in found):
        return Problem("it gives more than one list of demands")
    if re.sub(r"[`~\s]", "", visible(text[end:])):
        return Problem("there is text behind the closing JSON object")
    if not isinstance(last, list) or not all(isinstance(one, str) and not HALF.search(one) for one in last):
        return Problem("`demands` is no list of texts")
    demands = tuple(" ".join(one.split()) for one in last)
    if not demands or not all(any(map(str.isalnum, one)) for one in demands):
        return Problem("`demands` is empty, or one of them is")
    return () if len(demands) == 1 else _checked(demands, criterion)


def _checked(demands: tuple[str, ...], criterion: str) -> tuple[str, ...] | Problem:
    said = [folded(one) for one in demands]
    if len(set(said)) < len(said):
        return Problem("a demand stands there twice")
    if folded(criterion) in said:
        return Problem("one of the demands is the whole criterion")
    wanted, given = set(_numbers(criterion)), {number for one in demands for number in _numbers(one)}
    if wanted != given:
        told = ", ".join(sorted(wanted ^ given))
        return Problem(f"the demands do not have the numbers of the criterion ({told} is missing or new)")
    return demands


def _numbers(text: str) -> list[str]:
    return _NUMBER.findall(_LISTED.sub(" ", text))


_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "demands": {"type": "array", "items": {"type": "string"}}},
    "required": ["reason", "demands"],
    "additionalProperties": False,
}
