"""`truebench study checklist generate`: a checklist for every instruction, written by a model (paper 004, section 3.1.1)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from truebench_hf.benchmarks.tick import source, summary
from truebench_hf.benchmarks.tick.options import ChecklistOptions, InstructionOptions
from truebench_hf.benchmarks.tick.sections import unanswered
from truebench_hf.benchmarks.tick.source import FILE, Item, Listed
from truebench_hf.errors import UserError
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.options import at_least_one, option, role
from truebench_hf.report.sections import Grid, Section
from truebench_hf.study.items import Items
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study

Written = tuple[Listed, ...]  # of one instruction: one checklist a run


@dataclass(frozen=True, kw_only=True)
class GenerateChecklistOptions(InstructionOptions, ChecklistOptions):
    """For which instructions, and who writes. Criteria that the data has are neither shown nor kept."""

    WRITER: ClassVar[str] = "model"
    OWN: ClassVar[bool] = False

    model: str | None = role(None, help="Who writes the checklists: smollm2, hf:, vllm:, openai: or scripted: spec.")
    generator: str | None = role(None, help="Another name of --model.")
    runs: int = option(
        1,
        panel="Checklists",
        help="Checklists an instruction: the first goes into checklists.jsonl, all into runs.jsonl.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.model is None) == (self.generator is None):
            raise UserError("name who writes the checklists: --model SPEC")
        at_least_one(self, "runs")
        if self.runs > 1 and not self.generator_temperature:
            raise UserError("--runs needs --generator-temperature above 0: at 0 all would be the same")


class GenerateChecklists(Study[GenerateChecklistOptions, Item, Written, list[dict[str, Any]]]):
    """`value` is the rows of `checklists.jsonl`."""

    kind, unit, prompts = "checklists", "checklists", ("generate_checklist",)
    files = (FILE, "checklists.json", "runs.jsonl")
    editable = source.EDITABLE

    def items(self) -> Items[Item]:
        return source.items(self.options)

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts)

    async def work(self, item: Item) -> Written:
        runs = range(1 if item.known else self.options.runs)
        return tuple(await asyncio.gather(*(source.checklist(self, item, run) for run in runs)))

    def score(self, done: Sequence[Written]) -> Outcome[list[dict[str, Any]]]:
        first, every = [written[0] for written in done], [one for written in done for one in written]
        rows = source.with_others(self.options, [source.to_row(one) for one in first])
        found = summary.summary(every)
        files: dict[str, Any] = {FILE: rows, "checklists.json": found | {"rows_left_out": list(self.all.left_out)}}
        if self.options.runs > 1:
            files["runs.jsonl"] = [
                source.to_row(one) | {"run": run} for written in done for run, one in enumerate(written, 1)
            ]
        shown = [*(_questions(first[0]) if len(first) == 1 else []), *summary.sections(found), unanswered(first)]
        return Outcome(
            rows,
            files,
            "Checklists",
            shown,
            incomplete=len(found["without"]),
        )


def _questions(one: Listed) -> list[Section]:
    """The questions themselves, where there is only one checklist to look at."""
    rows = tuple((number, criterion.text) for number, criterion in enumerate(one.criteria, 1))
    return [Grid("Questions", (), rows, prose=(1,))] if rows else []
