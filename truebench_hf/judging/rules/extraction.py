"""Rules that a model reads out of a criterion, in the typed form, each held against the criterion word for word.

A `RuleReader` asks about every criterion once, through the ledger, and stands before a judge as `ReadBefore`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Union

from pydantic import TypeAdapter

from truebench_hf.data.judged import Case
from truebench_hf.data.rules import KINDS, All, AnyOf, CountRule, Pattern, Rule, rule_of, stored_text
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import CaseJudge
from truebench_hf.judging.rules.counting import load_table
from truebench_hf.judging.rules.deciding import ParsedRules, rules_of
from truebench_hf.judging.rules.matching import PARTS, bounded, words_of
from truebench_hf.judging.signed import ListOf
from truebench_hf.judging.signed_asking import ask_by_prompt, problem_of
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts, fence
from truebench_hf.types import Criterion, Verdict

PROMPT = "find_rules"
SAMPLING = Sampling(max_tokens=2048)
LABELS: dict[str, dict[str, bool]] = {"rules": ListOf()}
_MOST = 8  # rules of one criterion: who finds more does not read but lists


class RuleReader:
    """A model that reads the rules of criteria of which neither data nor phrases know any."""

    def __init__(self, caller: Caller, prompts: Prompts, structured: str) -> None:
        self._schemas, self._prompts = SchemaFallback(caller, structured), prompts
        self._answers: dict[tuple[str, str | None], ParsedRules | Problem] = {}

    async def read(self, criterion: Criterion) -> ParsedRules | Problem:
        """Return the rules of a criterion, each of which stands in it; a Problem where no answer of the model can be used.

        Raises what `Caller.complete` raises, but for a request that failed. The ledger knows who asked the same before.
        """
        tag = fence(criterion.text, criterion.condition or "")
        values = {"criterion": criterion.text, "condition": criterion.condition or "", "tag": tag}
        stated = await ask_by_prompt(
            self._schemas, self._prompts, PROMPT, values, LABELS,
            sampling=SAMPLING, reason="It limits the words.", entries=_forms(), long=True,
            check=lambda answer: problem_of(checked_rules(answer.labels, criterion)),
        )  # fmt: skip
        answer = Problem(stated.problem) if stated.problem else checked_rules(stated.labels, criterion)
        self._answers[criterion.text, criterion.condition] = answer
        return answer

    async def with_rules(self, criterion: Criterion) -> Criterion:
        """Return a criterion with the rules that the model reads in it; as it is where it has some, or none are found."""
        if criterion.rule or rules_of(criterion):
            return criterion
        answer = await self.read(criterion)
        if isinstance(answer, Problem) or not answer.rules:
            return criterion
        return replace(criterion, rule=stored_text(answer.rules, complete=False))

    @property
    def note(self) -> str:
        """How many of the criteria that it was asked about the model found rules in."""
        answers = self._answers.values()
        usable = [answer for answer in answers if not isinstance(answer, Problem)]
        unread = f" ({len(answers) - len(usable)} without a usable answer)" if len(usable) < len(answers) else ""
        recognised = sum(bool(answer.rules) for answer in usable)
        return f"Rules by {self._schemas.caller.model.spec}: {recognised} of {len(answers)} criteria that had none{unread}."


@dataclass(frozen=True)
class ReadBefore:
    """A judge of cases whose criteria a `reader` gives their rules first."""

    judge: CaseJudge
    reader: RuleReader

    async def verdicts(self, case: Case) -> tuple[Verdict, ...]:
        """Return one verdict per criterion of the case, in order."""
        criteria = await asyncio.gather(*map(self.reader.with_rules, case.criteria))
        verdicts = await self.judge.verdicts(replace(case, criteria=tuple(criteria)))
        return tuple(replace(verdict, criterion=own) for verdict, own in zip(verdicts, case.criteria, strict=True))


def checked_rules(stated: Mapping[str, Any], criterion: Criterion) -> ParsedRules | Problem:
    """Return the `rules` that an answer states, each of which stands in the criterion; else a Problem.

    They are never complete: whether a criterion says anything beside them a person decides, by its field `rule`.
    """
    if len(stated["rules"]) > _MOST:
        return Problem(f"`rules` must be a list of at most {_MOST} rules")
    rules: list[Rule] = []
    for row in stated["rules"]:
        if isinstance(row, dict):  # some servers' schemas demand null for absent fields
            row = {name: value for name, value in row.items() if value is not None}
        try:
            rules.append(rule_of(row))
        except UserError as error:
            return Problem(str(error)[:300])
        if claim := unstated(rules[-1], criterion.text):
            return Problem(f"the criterion does not say {claim}, as the rule of kind {rules[-1].kind} has it")
    return ParsedRules(tuple(dict.fromkeys(rules)), False, "model")


def unstated(rule: Rule, text: str) -> str:
    """Return what of a rule the criterion does not say, by the words of `matching`; "" where all of it stands there."""
    words, fields = words_of(text), rule.model_dump(mode="json", exclude_defaults=True)
    units = {str(word.value).partition("/")[0] for word in words if word.name == "unit"}
    heard = {"not" if word.name in ("none", "nor") else word.name for word in words} | units
    numbers = [word.value for word in words if word.name == "number"]
    languages = {code for word in words if word.name == "language" for code in word.value.split()}
    texts = [text for name in ("values", "header", "keys", "characters") for text in fields.get(name, ())]
    texts += [fields[name] for name in ("value", "regex") if name in fields]
    claims = list[str]()
    if isinstance(rule, CountRule):
        heard |= {"list_items"} if heard & {"list", "bulleted", "numbered"} else set()
        wanted = {rule.unit.partition("_no_")[0].partition("_with_")[0]}
        wanted |= {unit for unit, part in PARTS.items() if part == rule.per}
        claims += [f"anything of {unit}" for unit in wanted - heard]
        bounds = [word.value for word in words if word.name == "bound"]
        amount = bounded(numbers, bounds, "between" in heard, "not" in heard)
        claims += ["these bounds"] if amount and amount[:2] != (rule.min, rule.max) else []
    else:  # the names that a row of `rules.yaml` cannot do without
        free = ("have", "noun", "part", "answer")
        rows = [row["when"].split() for row in load_table("phrases/rules") if row["rule"]["kind"] == rule.kind]
        required = [{name for name in names if name[0] != "[" and name not in free} for names in rows]
        claims += [] if any(names <= heard for names in required) else [f"anything of {rule.kind}"]
    claims += [
        f"the text {value!r}" for value in texts if value not in text and (len(value) > 1 or "sign" not in heard)
    ]
    near = {number + step for number in numbers for step in (-1, 0, 1)}
    least_and_most = [value for name, value in fields.items() if name.startswith(("min", "max")) and value is not None]
    claims += [f"the number {number}" for number in least_and_most if number not in near]
    claims += [f"the language {code!r}" for code in fields.get("codes", ()) if code not in languages]
    return next(iter(claims), "")


def _forms() -> dict[str, Any]:
    """Return what the entries of an answer look like, with an example of each."""
    single = [kind for kind in KINDS.values() if kind not in (All, AnyOf, Pattern)]  # what a criterion states in words
    rules = TypeAdapter(list[Union[tuple(single)]]).json_schema()  # type: ignore[misc, arg-type]  # noqa: UP007
    return {"rules": (rules, [])}
