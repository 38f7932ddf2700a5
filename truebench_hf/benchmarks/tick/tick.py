"""TICK: any prompt evaluated without a benchmark, by a checklist made for it.

Abstract: a model writes YES/NO questions for an instruction, before any response to it is there; a judge answers them on
each response, one a call. The share of YES is the response's pass rate; between two models the higher one wins. Paper:
"TICKing All the Boxes", sections 3.1 and 3.2. Data: any prompts; `checklists_mini`, written for this project.

`tick` has models answer. `study checklist score` judges responses that are there, read as `truebench judge` reads them:
from files by `--responses`, from the rows of the data (where several models' responses to one instruction may stand), or
the last answers of conversations by `--logs`, which `tick` takes as well. `study checklist generate` writes checklists
alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import ChecklistItem, ChecklistOptions, InstructionOptions
from truebench_hf.benchmarks.tick.scoring import FILES, GradedResponse, judged, results
from truebench_hf.data.answer_files import Answers, of_row, read_answers
from truebench_hf.data.given_responses import of_model, responses_by_model
from truebench_hf.data.headers import words
from truebench_hf.data.judged import Judged
from truebench_hf.data.logs import read_logs
from truebench_hf.data.rows import Record, fold
from truebench_hf.engine.pool import together
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JUDGE_SAMPLING, JudgeSettings
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.asking import converse
from truebench_hf.options import Binds, at_least_one, columns, option, role
from truebench_hf.results.report import Report
from truebench_hf.study.items import Items
from truebench_hf.study.options import (
    FailUnderOptions,
    JudgingOptions,
    RepeatOptions,
    StudyOptions,
    WritingOptions,
    numbered,
)
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import O, Study
from truebench_hf.text.terminal import warn
from truebench_hf.types import Instance, Response

ByModel = Mapping[str, Mapping[str, Sequence[Response]]]  # model -> id -> responses, its samples


@dataclass(frozen=True, kw_only=True)
class QuestionJudgeOptions(JudgingOptions):
    """Who answers the questions of checklists, each in a call of its own (paper 004, section 3.1.2)."""

    PANEL: ClassVar[str] = "Judging"

    judge: str = role(help="Judge: answers every question on every response.", binds=Binds(late=True))
    votes: int = option(
        1, binds=Binds(late=True), help="Votes per question (majority, maj@k); more than one needs a judge temperature."
    )
    judge_temperature: float = option(0.0, binds=Binds(late=True), help="Sampling temperature of the judge.")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one(self, "votes")
        if not 0 <= self.judge_temperature < inf:
            raise UserError(f"--judge-temperature {self.judge_temperature}: must be at least 0")
        if self.decides(self.judge) and (self.votes > 1 or self.judge_temperature):
            raise UserError(
                "--votes and --judge-temperature go with --judge-level rubric: a probability does not change from vote to "
                "vote"
            )

    @property
    def usual_rules(self) -> str:
        """Rules answer the questions that they can."""
        return "decide"

    @property
    def settings(self) -> JudgeSettings:
        """How the judge decides. Raises UserError on several votes without a temperature."""
        sampling = replace(JUDGE_SAMPLING, temperature=self.judge_temperature)
        return replace(self.judging(self.judge, "rubric"), votes=self.votes, sampling=sampling)


@dataclass(frozen=True, kw_only=True)
class LogsOptions(InstructionOptions):
    """Conversations with their answers, in place of instructions."""

    PANEL: ClassVar[str] = "Data"

    logs: str | None = option(
        None, help="Logs of conversations with their answers, as for `truebench judge`, in place of all other data: the last "
        "answer of each is judged by a checklist for what it answers."
    )  # fmt: skip
    model_name: str | None = option(
        None, help="With --logs or --responses: whose answers they are, where the file does not say."
    )

    def __post_init__(self) -> None:
        if self.logs and (self.data or self.instruction or self.column):
            raise UserError("--logs holds prompts and answers; leave out --data, --instruction and --column")
        super().__post_init__()

    @property
    def holds_instructions(self) -> bool:
        """Whether logs stand in the place of --data and --instruction."""
        return self.logs is not None


@dataclass(frozen=True, kw_only=True)
class TickOptions(
    LogsOptions, QuestionJudgeOptions, ChecklistOptions, WritingOptions, RepeatOptions, StudyOptions, FailUnderOptions
):  # fmt: skip
    """Which models answer which instructions, who writes the checklists, and who judges."""

    model: tuple[str, ...] = role(
        (), help="Model under test: smollm2, hf:, vllm:, openai: or scripted: spec; may be repeated.",
        binds=Binds("model", lambda options: numbered(options.model), grows=True),
    )  # fmt: skip

    def __post_init__(self) -> None:
        if self.logs and (self.model or self.samples > 1):
            raise UserError("--logs holds answers; leave out --model and --samples")
        if not self.logs and not self.model:
            raise UserError("name at least one --model, or --logs with answers that are there already")
        if self.model_name and not self.logs:
            raise UserError("--model-name goes with --logs")
        super().__post_init__()


@dataclass(frozen=True, slots=True)
class AnsweredItem:
    """An instruction with the responses to it by model that are there already, several samples or one."""

    item: ChecklistItem
    responses: Mapping[str, Sequence[Response]]


class ChecklistJudging(Study[O, AnsweredItem, GradedResponse, Report]):
    """What both studies share that judge responses by their checklists."""

    kind, unit = "tick", "instructions"  # one board, whoever asked the models
    files, editable, prompts = FILES, checklists.EDITABLE, checklists.PROMPTS
    unforeseen = "Checklists that are yet to be written are reckoned at five questions."

    def answered_items(self, items: Items[ChecklistItem], by_model: ByModel) -> Items[AnsweredItem]:
        """The instructions, each with the responses to it; a folder is bound to both.

        Options on who writes checklists say nothing where none is written: they stay as another session had them.
        """
        if not self.options.writer or all(item.known for item in items.every):  # type: ignore[attr-defined]
            self.unasked = {"generator"}

        def content(answered: AnsweredItem) -> Any:
            responses = [response for samples in answered.responses.values() for response in samples]
            bare = checklists.bare(answered.item.instance)
            return [bare, responses] if responses else bare

        def responses_to(item: ChecklistItem) -> dict[str, Sequence[Response]]:
            return {model: by_id[item.instance.id] for model, by_id in by_model.items() if item.instance.id in by_id}

        return Items(
            [AnsweredItem(item, responses_to(item)) for item in items.every], lambda answered: items.name(answered.item), content,
            lambda answered: items.strata(answered.item), left_out=items.left_out,
            asked=lambda answered: checklists.bare(answered.item.instance),
        )  # fmt: skip

    def logged_items(self) -> Items[AnsweredItem]:
        """The conversations of logs, each with its last answer; equal ones are samples of one."""
        options: Any = self.options
        logs = read_logs(
            Path(options.logs), (), model_name=options.model_name, separator=options.criteria_separator, judged=False
        )
        warn(logs.summary)
        by_model: dict[str, dict[str, list[Response]]] = {}
        for instance, response in logs.answered:
            by_model.setdefault(response.model, {}).setdefault(instance.id, []).append(response)
        self.models = list(by_model)
        loaded = checklists.items_from(options, {instance.id: instance for instance, _ in logs.answered}.values())
        return self.answered_items(replace(loaded, left_out=(*loaded.left_out, *logs.left_out)), by_model)

    async def judged_responses(self, answered: AnsweredItem) -> GradedResponse:
        """Responses that are there already, judged by the checklist of their instruction."""
        listed = await checklists.checklist_for(self, answered.item)
        judge = self.judge(self.judge_settings()[0])
        samples = [response for responses in answered.responses.values() for response in responses]
        judgments = iter(await asyncio.gather(*(judged(judge, listed.instance, response) for response in samples)))
        by_model = {model: tuple(islice(judgments, len(of))) for model, of in answered.responses.items()}
        return GradedResponse(listed, by_model)

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.settings]  # type: ignore[attr-defined]

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts)  # type: ignore[attr-defined]

    def score(self, done: Sequence[GradedResponse]) -> Outcome[Report]:
        return results(self, done, self.models)


class Tick(ChecklistJudging[TickOptions]):
    """Checklist, answers of every model, verdicts. Models may be added to a folder, and checklists edited in it."""

    def items(self) -> Items[AnsweredItem]:
        if self.options.logs:
            return self.logged_items()
        self.models = numbered(list(map(str, self.options.model)))  # models in memory may share a name
        return self.answered_items(checklists.load_items(self.options), {})

    async def work(self, answered: AnsweredItem) -> GradedResponse:
        """The checklist is written before any response is there; without one nothing is answered."""
        if answered.responses:
            return await self.judged_responses(answered)
        listed = await checklists.checklist_for(self, answered.item)
        if not listed.criteria:
            return GradedResponse(listed, {})
        samples = await together(self._samples(listed.instance, n, name) for n, name in enumerate(self.models, 1))
        return GradedResponse(listed, dict(zip(self.models, samples, strict=True)))

    async def _samples(self, instance: Instance, number: int, name: str) -> list[Judged]:
        drawn = range(1, self.options.samples + 1)
        return await together(self._respond_and_judge(instance, number, name, sample) for sample in drawn)

    async def _respond_and_judge(self, instance: Instance, number: int, name: str, sample: int) -> Judged:
        part = "model" if len(self.options.model) == 1 else f"model {name}"
        caller = self.caller("model", number, part)
        response = await converse(instance, caller, self.options.sampling, sample=sample)
        return await judged(self.judge(self.options.settings), instance, replace(response, model=name))


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(LogsOptions, QuestionJudgeOptions, ChecklistOptions, StudyOptions):
    """Which responses to which instructions, by which checklists, and who judges."""

    WRITER: ClassVar[str] = ""

    generator: str | None = role(None, help="Who writes checklists where there are none; nobody if not given.")
    responses: tuple[str, ...] = option(
        (), panel="Data", help="File of responses to the data, as for `truebench judge`; may be repeated, e.g. one file a "
        "model. Where rows do not say whose they are the file's name does. Without one those in the rows of the data."
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.instruction is not None:
            raise UserError(
                "--instruction has no response; give --data with responses, or with --responses FILE, or --logs"
            )
        if self.logs and self.responses:
            raise UserError("--logs holds prompts and answers; leave out --responses")


class ScoreChecklists(ChecklistJudging[ScoreOptions]):
    """Every response to every instruction, question by question."""

    def items(self) -> Items[AnsweredItem]:
        options = self.options
        if options.logs:
            return self.logged_items()
        rows = [row for record in checklists.load_records(options) for row in _by_response(record)]
        loaded = checklists.items_from(options, checklists.rows_to_instances(options, rows, repeated=True))
        files = [(path, list(read_answers(path))) for path in map(Path, options.responses)]
        if not files:
            named = columns(options.column)
            answers = [of_row(_named(row, named), row.where) for row in rows if _has_answer(row)]
            files = [(Path(str(options.data)), answers)]
        if name := options.model_name:
            files = [(path, _of_model(answers, name, path.name)) for path, answers in files]
        by_model = responses_by_model([item.instance for item in loaded.every], files)
        if not by_model:
            raise UserError(
                f"--data {options.data}: no row has a response ({', '.join(_SHORT)}); give them by --responses FILE, "
                "conversations that end with one by --logs"
            )
        self.models = list(by_model)
        return self.answered_items(loaded, by_model)

    async def work(self, answered: AnsweredItem) -> GradedResponse:
        return await self.judged_responses(answered)


_SHORT = ("response", "output", "completion", "answer")


def _has_answer(record: Record) -> bool:
    return any(fold(name) in words("answers") and value is not None for name, value in record.row.items())


def _named(record: Record, columns: Mapping[str, Sequence[str]]) -> Mapping[str, Any]:
    """The row with its id and prompt under our names."""
    ours = {name: record.row.get(columns[name][0]) for name in ("id", "prompt") if name in columns}
    return {**record.row, **ours}


def _of_model(answers: Sequence[Answers], model: str, name: str) -> list[Answers]:
    """The answers of this model, or those of which nobody says whose they are, as its own."""
    return [replace(answer, model=model) for answer in of_model(answers, model, name)[1]]


def _by_response(record: Record) -> Iterator[Record]:
    """A row for each response: of a row of the `checklists` form, where of one model's the second is `model 2`, and of a
    conversation that ends with it."""
    messages = record.row.get("messages")
    if not isinstance(record.row.get("responses"), list):
        last = messages[-1] if isinstance(messages, list) and messages else None
        ends = isinstance(last, dict) and last.get("role") == "assistant" and not _has_answer(record)
        parts = {"messages": messages[:-1], "response": last.get("content")} if ends else {}  # type: ignore[index,union-attr]
        yield replace(record, row={**record.row, **parts})
        return
    bare = {name: value for name, value in record.row.items() if name != "responses"}
    names: list[str] = []
    for part in record.parts("responses"):
        names.append(part.maybe("model") or "response")
        number = names.count(names[-1])
        model = names[-1] if number == 1 else f"{names[-1]} {number}"
        yield replace(record, where=part.where, row={**bare, "response": part.text("text"), "model": model})
