"""`truebench data rules`: a rule for every criterion of some data that states one, by patterns or by a model.

Abstract: a criterion is decidable where it says nothing but what a program can measure, measurable where that is a part of
it, else neither. What is found stands in the field `rule` of rows that people check, edit and judge by; a rule that the
data has already is left as it is. None of the five papers has this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf import instances
from truebench_hf.benchmarks.truebench import data
from truebench_hf.benchmarks.truebench.options import InstanceOptions
from truebench_hf.benchmarks.truebench.rules.ruled import Ruled, rows, sections, summary, with_rules
from truebench_hf.judging.rules.reading.criteria import found
from truebench_hf.judging.rules.reading.extraction import PROMPT, extracted
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.loaders.usable import unusable
from truebench_hf.models.asking import Problem, SchemaFallback
from truebench_hf.options import Binds, role
from truebench_hf.study.items import Items, whole
from truebench_hf.study.notes import weak_judges
from truebench_hf.study.options import ReplyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study
from truebench_hf.types import Criterion, Instance

DATA = "data.jsonl"


@dataclass(frozen=True, kw_only=True)
class RulesOptions(InstanceOptions, ReplyOptions):
    """Whose criteria are read, and by whom."""

    judge: str | None = role(
        None, binds=Binds(grows=True, late=True),
        help="Model that reads the criteria which no pattern knows; each rule it names is held against the text.",
    )  # fmt: skip


Read = tuple[Instance, tuple[tuple[Ruled, ...], ...]]  # an instance with its criteria, by turn


class Rules(Study[RulesOptions, Instance, Read, dict[str, Any]]):
    """Every criterion of every instance; `value` is the content of `rules.json`."""

    kind, unit = "rules", "instances"
    files = ("rules.json", "criteria.jsonl", DATA)
    editable = {DATA: ""}  # noqa: RUF012
    prompts = (PROMPT,)
    boards = False

    def items(self) -> Items[Instance]:
        options = self.options
        every = data.load(options.data, options.column, options.criteria, options.criteria_separator)
        chosen = data.select(every, options.language, options.category)
        return Items(
            chosen, lambda one: one.id, whole, lambda one: (one.language, one.category), left_out=unusable(chosen)
        )  # fmt: skip

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts, self.options.structured)

    def setup(self) -> None:
        judge = self.options.judge
        self.schemas = SchemaFallback(self.caller("judge"), self.options.structured) if judge else None

    async def work(self, instance: Instance) -> Read:
        turns = [asyncio.gather(*map(self._read, turn.criteria)) for turn in instance.turns]
        return instance, tuple(tuple(found) for found in await asyncio.gather(*turns))

    async def _read(self, criterion: Criterion) -> Ruled:
        """The rule of the data wins, then that of the patterns; a model is asked where neither says anything."""
        if criterion.rule:
            return Ruled(criterion, found(criterion), "data")
        if (known := found(criterion)) is not None:
            return Ruled(criterion, known, "patterns")
        if self.schemas is None:
            return Ruled(criterion, None)
        made = await extracted(self.schemas, criterion, self.options.prompts)
        if isinstance(made, Problem):
            return Ruled(criterion, None, problem=made.text)
        return Ruled(criterion, made, "judge") if made.rules else Ruled(criterion, None)

    def score(self, done: Sequence[Read]) -> Outcome[dict[str, Any]]:
        options, every = self.options, [one for _, turns in done for turn in turns for one in turn]
        result = summary(every)
        files = {
            "rules.json": result,
            "criteria.jsonl": [row for instance, turns in done for row in rows(instance, turns)],
            DATA: [instances.as_row(with_rules(instance, turns)) for instance, turns in done],
        }
        notes = [f"Check {options.out}/{DATA}, mend it, and judge by it: --data {options.out}/{DATA} --rules decide."]
        if unread := [one.problem for one in every if one.problem]:
            notes.append(f"Criteria that the judge gave no usable answer on: {len(unread)} (the first: {unread[0]}).")
        notes += weak_judges([options.judge] if options.judge else [])
        facts = {"Judge": options.judge or "none: patterns alone"}
        return Outcome(result, files, "Rules of criteria", sections(result), notes=notes, facts=facts)


def rules(options: RulesOptions) -> dict[str, Any]:
    """Find the rules of criteria; `truebench data rules` in Python. Returns the content of rules.json. Raises UserError."""
    return Rules(options).run().value
