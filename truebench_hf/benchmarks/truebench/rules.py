"""`truebench data rules`: a rule for every criterion of some data that states one, by what is known, by phrases or by a model.

Abstract: a criterion is decidable where it says nothing but what a program can measure, measurable where that is a part of
it, else neither. What is found stands in the field `rule` of rows that people check, edit and judge by; a rule that the
data has already is left as it is. None of the five papers has this.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.options import InstanceOptions
from truebench_hf.data import instances
from truebench_hf.data.usable import unusable
from truebench_hf.judging.rules.deciding import rules_of
from truebench_hf.judging.rules.extraction import PROMPT, RuleReader
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import Problem
from truebench_hf.options import Binds, role
from truebench_hf.report.sections import Grid
from truebench_hf.rules import KINDS, stored_text
from truebench_hf.study.items import Items
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import ReplyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Criterion, Instance

DATA = "data.jsonl"
SORTS = {
    "decidable": "says nothing but what is measured", "measurable": "says more, or may: it is measured for judges",
    "neither": "nothing of it can be measured",
}  # fmt: skip
_LISTED, _PRINTED = 500, 12  # criteria on the page, and at most how many there are for the terminal to list them, too
# Who spoke first (`ParsedRules.source`), as a reader is told.
SOURCES = {
    "data": "by the data",
    "known": "by a list of known criteria",
    "phrases": "by their words",
    "model": "by the model",
}


@dataclass(frozen=True, kw_only=True)
class RulesOptions(InstanceOptions, ReplyOptions):
    """Whose criteria are read, and by whom."""

    model: str | None = role(
        None, binds=Binds(grows=True, late=True),
        help="Model that reads the criteria which no phrase knows; each rule it names is held against the text.",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class RuledCriterion:
    """A criterion with its rules as its field `rule` has them, what a program can do with it, and who found them."""

    criterion: Criterion
    sort: str = "neither"
    kinds: tuple[str, ...] = ()
    source: str = ""
    problem: str = ""  # why the model found none


Read = tuple[Instance, tuple[tuple[RuledCriterion, ...], ...]]  # an instance with its criteria, by turn


class Rules(Study[RulesOptions, Instance, Read, dict[str, Any]]):
    """Every criterion of every instance; `value` is the content of `rules.json`."""

    kind, unit = "rules", "instances"
    files = ("rules.json", "criteria.jsonl", DATA)
    editable = {DATA: ""}  # noqa: RUF012
    prompts = (PROMPT,)
    boards = False

    def items(self) -> Items[Instance]:
        options = self.options
        chosen = data.select(
            data.load(options.data, options.column, options.criteria, options.criteria_separator),
            options.language,
            options.category,
        )
        return Items(
            chosen, lambda one: one.id, None, lambda one: (one.language, one.category), left_out=unusable(chosen)
        )  # fmt: skip

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts, self.options.structured)

    def setup(self) -> None:
        options, self.reader = self.options, None
        if options.model:
            self.reader = RuleReader(self.caller("model"), options.prompts, options.structured)

    async def work(self, instance: Instance) -> Read:
        turns = [asyncio.gather(*map(self._read, turn.criteria)) for turn in instance.turns]
        return instance, tuple(tuple(found) for found in await asyncio.gather(*turns))

    async def _read(self, criterion: Criterion) -> RuledCriterion:
        """Ask the model where neither the data nor what ships says anything."""
        parsed = rules_of(criterion)
        if parsed is None and self.reader is not None and not criterion.rule:
            answer = await self.reader.read(criterion)
            if isinstance(answer, Problem):
                return RuledCriterion(criterion, problem=answer.text)
            parsed = answer if answer.rules else None
        if parsed is None:
            return RuledCriterion(criterion, source="data" if criterion.rule else "")
        text = criterion.rule or stored_text(parsed.rules, parsed.complete)
        sort = "decidable" if parsed.complete and not criterion.condition else "measurable"
        return RuledCriterion(
            replace(criterion, rule=text), sort, tuple(rule.kind for rule in parsed.rules), parsed.source
        )

    def score(self, done: Sequence[Read]) -> Outcome[dict[str, Any]]:
        options, every = self.options, [one for _, turns in done for turn in turns for one in turn]
        result = {
            "criteria": len(every), **{sort: sum(one.sort == sort for one in every) for sort in SORTS},
            "by_source": {name: dict(Counter(one.sort for one in every if one.source == name)) for name in SOURCES},
            "by_kind": {
                sort: dict(Counter(kind for one in every if one.sort == sort for kind in one.kinds).most_common())
                for sort in ("decidable", "measurable")
            },
            "unread": sum(bool(one.problem) for one in every),
        }  # fmt: skip
        rows = [
            {"id": instance.id, "turn": turn, "number": number, "criterion": one.criterion.text, "sort": one.sort,
             "rule": one.criterion.rule, "by": one.source, "problem": one.problem}
            for instance, turns in done for turn, found in enumerate(turns, 1) for number, one in enumerate(found, 1)
        ]  # fmt: skip
        files = {
            "rules.json": result,
            "criteria.jsonl": rows,
            DATA: [instances.as_row(_with_rules(*read)) for read in done],
        }
        notes = [f"Check {options.out}/{DATA}, mend it, and judge by it: --data {options.out}/{DATA}."]
        if unread := [one.problem for one in every if one.problem]:
            notes.append(f"Criteria that the model gave no usable answer on: {len(unread)} (the first: {unread[0]}).")
        notes += weak_judges([options.model] if options.model else [])
        return Outcome(
            result, files, "Rules of criteria", [_listed(every), *_sections(result)], notes=notes,
            facts={"Model": options.model or "none: phrases alone"},
        )  # fmt: skip


def _with_rules(instance: Instance, turns: Sequence[Sequence[RuledCriterion]]) -> Instance:
    """Return the instance, whose criteria carry their rules."""
    pairs = zip(instance.turns, turns, strict=True)
    return replace(
        instance, turns=tuple(replace(turn, criteria=tuple(x.criterion for x in found)) for turn, found in pairs)
    )


def _listed(every: Sequence[RuledCriterion]) -> Grid:
    """Return what a program can do with each criterion; a few are shown on the terminal, too."""
    different = list({one.criterion.text: one for one in every}.values())
    rows = tuple((one.criterion.text, one.sort, one.criterion.rule or "") for one in different[:_LISTED])
    more = len(different) - len(rows)
    note = f"And {more:,} more, in criteria.jsonl." if more else ""
    printed = len(rows) <= _PRINTED
    return Grid("Criteria", ("Criterion", "by a program", "rule"), rows, note=note, printed=printed, prose=(0, 2))


def _sections(result: dict[str, Any]) -> list[Grid]:
    """Return what programs can do, by who found the rules, and the rules by kind."""
    total, by_kind = result["criteria"] or 1, result["by_kind"]
    sources = {name: sorts for name, sorts in result["by_source"].items() if any(sorts.get(sort) for sort in SORTS)}
    counts = []
    for sort, why in SORTS.items():
        by_source = (sorts.get(sort, 0) for sorts in sources.values())
        counts.append((sort, result[sort], f"{100 * result[sort] / total:.1f}", *by_source, why))
    kinds = dict.fromkeys(kind for counted in by_kind.values() for kind in counted)
    rows = tuple((kind, *(counted.get(kind, 0) for counted in by_kind.values())) for kind in kinds)
    shown = Grid(
        "What programs can do",
        ("", "criteria", "%", *map(SOURCES.__getitem__, sources), "which means"),
        tuple(counts),
        prose=(3 + len(sources),),
    )
    return [shown, *([Grid("Rules by kind", ("Kind", *by_kind), rows)] if rows else [])]


def vocabulary() -> str:
    """Return every kind of rule with what it says, an example, and its fields as a line of JSON schema, in Markdown."""
    lines = []
    for kind, model in KINDS.items():
        doc = " ".join((model.__doc__ or "").split())
        fields = json.dumps({name: _plain_schema(field) for name, field in _fields(model).items() if name != "kind"})
        lines.append(f"### {kind}\n\n{doc}\n\n    {model.example}\n\nFields: `{fields}`\n")
    return "\n".join(lines)


def _fields(model: Any) -> dict[str, Any]:
    schema = TypeAdapter(model).json_schema()
    fields: dict[str, Any] = schema.get("properties") or schema["$defs"][model.__name__]["properties"]
    return fields


def _plain_schema(field: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field without its title, without null where it may be left out, and rules by their name."""
    known = {name: value for name, value in field.items() if name != "title" and value is not None}
    if "anyOf" in known:
        known |= next(choice for choice in known.pop("anyOf") if choice != {"type": "null"})
    if "oneOf" in known.get("items", {}):
        known["items"] = "a rule"
    return known


def rules(options: RulesOptions) -> dict[str, Any]:
    """Find the rules of criteria; `truebench data rules` in Python. Returns the content of rules.json. Raises UserError."""
    return Rules(options).run().value
