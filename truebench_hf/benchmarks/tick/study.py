"""TICK: any prompt evaluated without a benchmark, by a checklist made for it.

Abstract: a model writes YES/NO questions for an instruction, before any response to it is there; a judge answers them on
each response, one a call. The share of YES is the response's pass rate; between two models the higher one wins. Paper:
"TICKing All the Boxes", sections 3.1 and 3.2. Data: any prompts; `checklists_mini`, written for this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from truebench_hf.benchmarks.tick import source
from truebench_hf.benchmarks.tick.options import ChecklistOptions, InstructionOptions, QuestionJudgeOptions
from truebench_hf.benchmarks.tick.results import FILES, PROMPTS, judged, results
from truebench_hf.benchmarks.tick.scores import Graded
from truebench_hf.benchmarks.tick.source import Item
from truebench_hf.data.judged import Judged
from truebench_hf.engine.pool import together
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.conversation import converse
from truebench_hf.options import Binds, role
from truebench_hf.results.report import Report
from truebench_hf.study.items import Items
from truebench_hf.study.options import RepeatOptions, StudyOptions, WritingOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import O, Study, T
from truebench_hf.types import Instance


@dataclass(frozen=True, kw_only=True)
class ModelsOptions(WritingOptions):
    """Which models answer, and how."""

    model: tuple[str, ...] = role(
        help="Model under test: smollm2, hf:, vllm:, openai: or scripted: spec; may be repeated.",
        binds=Binds("model", lambda options: numbered(options.model), grows=True),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.model:
            raise UserError("name at least one --model")


@dataclass(frozen=True, kw_only=True)
class TickOptions(
    InstructionOptions, QuestionJudgeOptions, ChecklistOptions, ModelsOptions, RepeatOptions, StudyOptions
):
    """Which models answer which instructions, who writes the checklists, and who judges."""


class Judging(Study[O, T, Graded, Report]):
    """What studies share that judge responses by their checklists."""

    kind, unit = "tick", "instructions"  # one board, whoever asked the models
    files, editable, prompts = FILES, source.EDITABLE, PROMPTS
    unforeseen = "Checklists that are yet to be written are reckoned at five questions."

    def nothing_written(self, all_known: bool) -> None:
        """Options on who writes checklists say nothing where none is written: they stay as another session had them."""
        self.unasked = {"generator"} if all_known else set()

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.settings]  # type: ignore[attr-defined]

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts)  # type: ignore[attr-defined]


class Tick(Judging[TickOptions, Item]):
    """Checklist, answers of every model, verdicts. Models may be added to a folder, and checklists edited in it."""

    def items(self) -> Items[Item]:
        found = source.items(self.options)
        self.nothing_written(all(item.known for item in found.every))
        return found

    async def work(self, item: Item) -> Graded:
        """The checklist is written before any response is there; without one nothing is answered."""
        listed, models = await source.checklist(self, item), numbered(self.options.model)
        if not listed.criteria:
            return Graded(listed, {})
        found = await together(self._samples(listed.instance, n, name) for n, name in enumerate(models, 1))
        return Graded(listed, dict(zip(models, found, strict=True)))

    async def _samples(self, instance: Instance, number: int, name: str) -> list[Judged]:
        drawn = range(1, self.options.samples + 1)
        return await together(self._one(instance, number, name, sample) for sample in drawn)

    async def _one(self, instance: Instance, number: int, name: str, sample: int) -> Judged:
        part = "model" if len(self.options.model) == 1 else f"model {name}"
        caller = self.caller("model", number, part)
        response = await converse(instance, caller, self.options.sampling, sample=sample)
        return await judged(self.judge(self.options.settings), instance, replace(response, model=name))

    def score(self, done: Sequence[Graded]) -> Outcome[Report]:
        return results(self, done, numbered(self.options.model))


def tick(options: TickOptions) -> Report:
    """Write checklists, have models answer, judge. Writes the study into `options.out`. Raises UserError."""
    return Tick(options).run().value
