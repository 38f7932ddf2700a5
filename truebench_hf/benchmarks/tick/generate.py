"""`truebench study checklist generate`: a checklist for every instruction, written by a model (paper 004, section 3.1.1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from truebench_hf.benchmarks.tick import source, summary
from truebench_hf.benchmarks.tick.options import ChecklistOptions, InstructionOptions
from truebench_hf.benchmarks.tick.sections import unanswered
from truebench_hf.benchmarks.tick.source import FILE, Item, Listed
from truebench_hf.errors import UserError
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.options import role
from truebench_hf.report.sections import Grid, Section
from truebench_hf.study.items import Items
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import Study


@dataclass(frozen=True, kw_only=True)
class GenerateChecklistOptions(InstructionOptions, ChecklistOptions):
    """For which instructions, and who writes. Criteria that the data has are neither shown nor kept."""

    WRITER: ClassVar[str] = "model"
    OWN: ClassVar[bool] = False

    model: str | None = role(None, help="Who writes the checklists: smollm2, hf:, vllm:, openai: or scripted: spec.")
    generator: str | None = role(None, help="Another name of --model.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.model is None) == (self.generator is None):
            raise UserError("name who writes the checklists: --model SPEC")


class GenerateChecklists(Study[GenerateChecklistOptions, Item, Listed, list[dict[str, Any]]]):
    """`value` is the rows of `checklists.jsonl`."""

    kind, unit, prompts = "checklists", "checklists", ("generate_checklist",)
    files = (FILE, "checklists.json")
    editable = source.EDITABLE

    def items(self) -> Items[Item]:
        return source.items(self.options)

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts)

    async def work(self, item: Item) -> Listed:
        return await source.checklist(self, item)

    def score(self, done: Sequence[Listed]) -> Outcome[list[dict[str, Any]]]:
        rows = source.with_others(self.options, [source.to_row(one) for one in done])
        found = summary.summary(done)
        files: dict[str, Any] = {FILE: rows, "checklists.json": found | {"rows_left_out": list(self.all.left_out)}}
        shown = [*(_questions(done[0]) if len(done) == 1 else []), *summary.sections(found), unanswered(done)]
        return Outcome(rows, files, "Checklists", shown, incomplete=len(found["without"]))


def _questions(one: Listed) -> list[Section]:
    """The questions themselves, where there is only one checklist to look at."""
    rows = tuple((number, criterion.text) for number, criterion in enumerate(one.criteria, 1))
    return [Grid("Questions", (), rows, prose=(1,))] if rows else []
