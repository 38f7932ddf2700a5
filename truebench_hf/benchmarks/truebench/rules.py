"""`truebench data rules`: a rule for every criterion of some data that states one, by what is known, by phrases or by a model.

Abstract: a criterion is decidable where it says nothing but what a program can measure, measurable where that is a part of
it, else neither. What is found stands in the field `rule` of rows that people check, edit and judge by; a rule that the
data has already is left as it is. None of the five papers has this.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from truebench_hf.benchmarks.truebench.data import InstanceOptions
from truebench_hf.data import instances
from truebench_hf.data.row_files import unusable
from truebench_hf.data.rules import stored_text
from truebench_hf.judging.rules.deciding import rules_of
from truebench_hf.judging.rules.extraction import PROMPT, RuleReader
from truebench_hf.models.asking import Problem
from truebench_hf.options import Binds, role
from truebench_hf.report.table import Column, Table
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


class RulesOptions(InstanceOptions, ReplyOptions):
    """Whose criteria are read, and by whom."""

    SHOWS: ClassVar[str] = "_rule_kinds"
    model: str | None = role(
        None, binds=Binds(grows=True, late=True),
        help="Model that reads the criteria which no phrase knows; each rule it names is held against the text.",
    )  # fmt: skip


Read = tuple[Instance, list[dict[str, Any]]]  # an instance whose criteria have rules, and its rows of `criteria.jsonl`


class Rules(Study[RulesOptions, Instance, Read, dict[str, Table]]):
    """Every criterion of every instance; `value` are the tables by name."""

    kind, unit = "rules", "instances"
    files = ("criteria.jsonl", DATA)
    editable = {DATA: ""}  # noqa: RUF012
    prompts = (PROMPT,)
    boards = False

    def items(self) -> Items[Instance]:
        chosen = self.options.chosen()
        return Items(
            chosen, lambda instance: instance.id, None, lambda instance: (instance.language, instance.category), left_out=unusable(chosen)
        )  # fmt: skip

    def setup(self) -> None:
        options, self.reader = self.options, None
        if options.model:
            self.reader = RuleReader(self.caller("model"), options.prompts, options.structured)

    async def work(self, instance: Instance) -> Read:
        turns, rows = list(instance.turns), list[dict[str, Any]]()
        for place, turn in enumerate(turns):
            read = await asyncio.gather(*map(self._read, turn.criteria))
            turns[place] = replace(turn, criteria=tuple(criterion for criterion, _ in read))
            ids = {"id": instance.id, "turn": place + 1}
            rows += [ids | {"number": number} | row for number, (_, row) in enumerate(read, 1)]
        return replace(instance, turns=tuple(turns)), rows

    async def _read(self, criterion: Criterion) -> tuple[Criterion, dict[str, Any]]:
        """Return a criterion with its rule, and its row; a model is asked where neither data nor phrases say anything."""
        row = {"criterion": criterion.text, "sort": "neither", "rule": criterion.rule, "by": "", "problem": ""}
        parsed = rules_of(criterion)
        if parsed is None and self.reader is not None and not criterion.rule:
            answer = await self.reader.read(criterion)
            if isinstance(answer, Problem):
                return criterion, row | {"problem": answer.text}
            parsed = answer if answer.rules else None
        if parsed is None:
            return criterion, row | {"by": "data" if criterion.rule else ""}
        rule = criterion.rule or stored_text(parsed.rules, parsed.complete)
        sort = "decidable" if parsed.complete else "measurable"
        return replace(criterion, rule=rule), row | {"sort": sort, "rule": rule, "by": parsed.source}

    def score(self, done: Sequence[Read]) -> Outcome[dict[str, Any]]:
        options, rows = self.options, [row for _, own in done for row in own]
        notes = [f"Check {options.out}/{DATA}, mend it, and judge by it: --data {options.out}/{DATA}."]
        if unread := [row["problem"] for row in rows if row["problem"]]:
            notes.append(f"Criteria that the model gave no usable answer on: {len(unread)} (the first: {unread[0]}).")
        different = list({row["criterion"]: row for row in rows}.values())
        more = f"And {len(different) - _LISTED:,} more, in criteria.jsonl." if len(different) > _LISTED else ""
        columns = (
            Column("criterion", "Criterion", "prose"), Column("sort", "by a program"), Column("rule", "rule", "prose")
        )  # fmt: skip
        listed = Table("", columns, different[:_LISTED], "Criteria", more, printed=len(different) <= _PRINTED)
        sorts = _sorts(rows)
        return Outcome(
            {sorts.name: sorts}, title="Rules of criteria", tables=[listed, sorts],
            items={"criteria.jsonl": rows, DATA: [instances.as_row(instance) for instance, _ in done]},
            notes=notes + weak_judges([options.model] if options.model else []),
            facts={"Model": options.model or "none: phrases alone"},
        )  # fmt: skip


def _sorts(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return what programs can do, by who found the rules."""
    counts = Counter((row["sort"], row["by"]) for row in rows)
    sources = [source for source in dict.fromkeys(row["by"] for row in rows) if source]
    lines = []
    for sort, meaning in SORTS.items():
        criteria = sum(row["sort"] == sort for row in rows)
        by_source = {f"by_{source}": counts[sort, source] for source in sources}
        share = criteria / (len(rows) or 1)
        lines.append({"sort": sort, "criteria": criteria, "share": share, "meaning": meaning, **by_source})
    columns = (
        Column("sort", ""), Column("criteria", "criteria", "count"), Column("share", "%", "number", digits=1),
        *(Column(f"by_{source}", f"by {source}", "count") for source in sources), Column("meaning", "which means", "prose"),
    )  # fmt: skip
    return Table("sorts", columns, lines, "What programs can do")
