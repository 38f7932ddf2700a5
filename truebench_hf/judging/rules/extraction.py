"""Rules that a model reads out of a criterion, in the typed form, each held against the criterion word for word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Union

from pydantic import TypeAdapter

from truebench_hf.errors import UserError
from truebench_hf.judging.rules.deciding import ParsedRules
from truebench_hf.judging.rules.extraction_check import says_more, unstated
from truebench_hf.judging.signed import ListOf
from truebench_hf.judging.signed_prompt import ask_by_prompt, problem_of
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, fence
from truebench_hf.rules import KINDS, All, AnyOf, Pattern, Rule, rule_of
from truebench_hf.types import Criterion

PROMPT = "find_rules"
SAMPLING = Sampling(max_tokens=2048)
LABELS: dict[str, dict[str, bool]] = {"rules": ListOf(), "complete": {"true": True, "false": False}}
_MOST = 8  # rules of one criterion: who finds more does not read but lists


async def extracted(schemas: SchemaFallback, criterion: Criterion, prompts: Prompts) -> ParsedRules | Problem:
    """The rules that a model finds in a criterion; none where it states nothing that can be measured.

    A Problem where the model gives no answer that can be used. Raises what `Caller.complete` raises, but for a request
    that failed.
    """
    tag = fence(criterion.text, criterion.condition or "")
    values = {"criterion": criterion.text, "condition": criterion.condition or "", "tag": tag}
    answer = await ask_by_prompt(
        schemas, prompts, PROMPT, values, LABELS,
        sampling=SAMPLING, reason="It limits the words.", entries=_forms(), long=True,
        check=lambda answer: problem_of(rules_of(answer.labels, criterion)),
    )  # fmt: skip
    return Problem(answer.problem) if answer.problem else rules_of(answer.labels, criterion)


def rules_of(stated: Mapping[str, Any], criterion: Criterion) -> ParsedRules | Problem:
    """The `rules` that an answer states, each of which stands in the criterion; else a Problem.

    They are complete where the model says so and the criterion holds no word beside them.
    """
    if len(stated["rules"]) > _MOST:
        return Problem(f"`rules` must be a list of at most {_MOST} rules")
    found: list[Rule] = []
    for one in stated["rules"]:
        try:
            rule = rule_of(_without_nulls(one))
        except UserError as error:
            return Problem(str(error)[:300])
        if what := unstated(rule, criterion.text):
            return Problem(f"the criterion does not say {what}, as the rule of kind {rule.kind} has it")
        found.append(rule)
    rules = tuple(dict.fromkeys(found))
    return ParsedRules(rules, stated["complete"] and not says_more(rules, criterion), "model")


def _without_nulls(one: Any) -> Any:
    """A rule whose absent fields were written as null, which some servers' schemas demand."""
    return {name: value for name, value in one.items() if value is not None} if isinstance(one, dict) else one


def _forms() -> dict[str, Any]:
    """What the entries of an answer look like, with an example of each."""
    single = [kind for kind in KINDS.values() if kind not in (All, AnyOf, Pattern)]  # what a criterion states in words
    rules = TypeAdapter(list[Union[tuple(single)]]).json_schema()  # type: ignore[misc, arg-type]  # noqa: UP007
    return {"rules": (rules, [{"kind": "count", "unit": "words", "max": 50}]), "complete": ({"type": "boolean"}, True)}
