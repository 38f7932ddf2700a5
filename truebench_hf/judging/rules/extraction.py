"""Rules that a model reads out of a criterion, in the typed form, each held against the criterion word for word."""

from __future__ import annotations

import re
from typing import Any, Union

from pydantic import TypeAdapter

from truebench_hf.errors import UserError
from truebench_hf.judging.choice import stated
from truebench_hf.judging.rules.deciding import ParsedRules
from truebench_hf.judging.rules.extraction_check import says_more, unstated
from truebench_hf.judging.words import visible
from truebench_hf.models.asking import CUT_OFF, Problem, SchemaFallback, ask
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts, fence
from truebench_hf.rules import KINDS, All, AnyOf, Pattern, Rule, rule_of
from truebench_hf.types import Criterion, Message

PROMPT = "find_rules"
SAMPLING = Sampling(max_tokens=2048)
_MOST = 8  # rules of one criterion: who finds more does not read but lists
_EXAMPLE = (
    'It limits the words.\n```json\n{"rules": [{"kind": "count", "unit": "words", "max": 50}], "complete": true}\n```'
)


async def extracted(schemas: SchemaFallback, criterion: Criterion, prompts: Prompts) -> ParsedRules | Problem:
    """The rules that a model finds in a criterion; none where it states nothing that can be measured.

    A Problem where the model gives no answer that can be used. Raises what `Caller.complete` raises, but for a request
    that failed.
    """
    tag = fence(criterion.text, criterion.condition or "")
    values = {"criterion": criterion.text, "condition": criterion.condition or "", "tag": tag}

    def request(structured: bool) -> ChatRequest:
        text = prompts.render(PROMPT, **values, structured=structured)
        return ChatRequest((Message("user", text),), SAMPLING, 0, _schema() if structured else None, example=_EXAMPLE)

    def read(text: str, cut: bool) -> ParsedRules | Problem:
        return Problem(CUT_OFF, final=True) if cut else read_rules(text, criterion)

    return await schemas.ask(request, lambda made: ask(schemas.caller, made, read, _again))


def read_rules(text: str, criterion: Criterion) -> ParsedRules | Problem:
    """The rules under `rules`, stated once, each of which stands in the criterion; else a Problem. Never raises.

    They are complete where the model says so and the criterion holds no word beside them.
    """
    lists, whole = stated(text, "rules"), stated(text, "complete")
    if not lists or not whole:
        return Problem("it has no JSON object with the keys `rules` and `complete`")
    (end, last), (_, complete) = lists[-1], whole[-1]
    if any(one != last for _, one in lists) or any(one is not complete for _, one in whole):
        return Problem("it states `rules` or `complete` more than once, and not alike")
    if re.sub(r"[`~\s]", "", visible(text[end:])):
        return Problem("there is text behind the closing JSON object")
    if not isinstance(last, list) or not isinstance(complete, bool) or len(last) > _MOST:
        return Problem(f"`rules` must be a list of at most {_MOST} rules, and `complete` true or false")
    found: list[Rule] = []
    for one in last:
        try:
            rule = rule_of(_without_nulls(one))
        except UserError as error:
            return Problem(str(error)[:300])
        if what := unstated(rule, criterion.text):
            return Problem(f"the criterion does not say {what}, as the rule of kind {rule.kind} has it")
        found.append(rule)
    rules = tuple(dict.fromkeys(found))
    return ParsedRules(rules, complete and not says_more(rules, criterion), "model")


def _without_nulls(one: Any) -> Any:
    """A rule whose absent fields were written as null, which some servers' schemas demand."""
    return {name: value for name, value in one.items() if value is not None} if isinstance(one, dict) else one


def _again(problem: str) -> str:
    return (
        f"Your answer cannot be used: {problem}. Find the rules of the criterion again, and give one JSON object with the "
        "keys `rules` and `complete` at the end of your answer, in the form asked for above; an empty list where there are none."
    )


def _schema() -> dict[str, Any]:
    single = [kind for kind in KINDS.values() if kind not in (All, AnyOf, Pattern)]  # what a criterion states in words
    made = TypeAdapter(list[Union[tuple(single)]]).json_schema()  # type: ignore[misc, arg-type]  # noqa: UP007
    kinds = {"$defs": made.pop("$defs")}
    fields = {"reason": {"type": "string"}, "rules": made, "complete": {"type": "boolean"}}
    shape = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return shape | kinds
