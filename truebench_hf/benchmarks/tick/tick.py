"""TICK: any prompt evaluated without a benchmark, by a checklist made for it.

Abstract: a model writes YES/NO questions for an instruction, before any response to it is there; a judge answers them on
each response, one a call. The share of YES is the response's pass rate; between two models the higher one wins. Paper:
"TICKing All the Boxes", sections 3.1 and 3.2. Data: any prompts; `checklists_mini`, written for this project.

`tick` has models answer. `study checklist score` judges responses that are there: a row of the data may hold its own
(`response`, `output`, `completion`, `answer`, or the last of its `messages`) and `model`, and rows that differ in nothing
else are one instruction with several models' responses; others come from files by `--responses`. `study checklist
generate` writes checklists alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import (
    ChecklistOptions,
    InstructionOptions,
    Item,
    Listed,
    QuestionJudgeOptions,
)
from truebench_hf.benchmarks.tick.scoring import FILES, PROMPTS, Graded, judged, results, without_answers
from truebench_hf.data.answer_files import Answers, of_row, read_answers
from truebench_hf.data.given_responses import responses_by_model
from truebench_hf.data.judged import Judged
from truebench_hf.data.logs import read_logs
from truebench_hf.data.rows import Record
from truebench_hf.engine.pool import together
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.judging.sample_prompts import check_prompts
from truebench_hf.models.conversation import converse
from truebench_hf.options import Binds, option, role
from truebench_hf.report.sections import Grid, Section
from truebench_hf.results.report import Report
from truebench_hf.study.items import Items
from truebench_hf.study.options import FailUnderOptions, RepeatOptions, StudyOptions, WritingOptions, numbered
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import O, Study, T
from truebench_hf.text.terminal import warn
from truebench_hf.types import Instance, Response


@dataclass(frozen=True, kw_only=True)
class ModelsOptions(WritingOptions):
    """Which models answer, and how."""

    model: tuple[str, ...] = role(
        (), help="Model under test: smollm2, hf:, vllm:, openai: or scripted: spec; may be repeated.",
        binds=Binds("model", lambda options: numbered(options.model), grows=True),
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TickOptions(
    InstructionOptions,
    QuestionJudgeOptions,
    ChecklistOptions,
    ModelsOptions,
    RepeatOptions,
    StudyOptions,
    FailUnderOptions,
):
    """Which models answer which instructions, who writes the checklists, and who judges."""

    logs: str | None = option(
        None, panel="Data", help="Logs of conversations with their answers, as for `truebench judge`, in place of --data and "
        "--model: the last answer of each is judged by a checklist for what it answers."
    )  # fmt: skip
    model_name: str | None = option(None, panel="Data", help="With --logs: whose answers they are.")

    def __post_init__(self) -> None:
        if self.logs and (self.data or self.instruction or self.model or self.column or self.samples > 1):
            raise UserError(
                "--logs holds prompts and answers; leave out --data, --instruction, --column, --model and --samples"
            )
        if not self.logs and not self.model:
            raise UserError("name at least one --model, or --logs with answers that are there already")
        if self.model_name and not self.logs:
            raise UserError("--model-name goes with --logs")
        super().__post_init__()

    @property
    def holds_instructions(self) -> bool:
        """Whether logs stand in the place of --data and --instruction."""
        return self.logs is not None


@dataclass(frozen=True, slots=True)
class Answered:
    """An instruction with the responses to it by model, several samples or one."""

    item: Item
    responses: Mapping[str, Sequence[Response]]


def answered_items(items: Items[Item], by_model: Mapping[str, Mapping[str, Sequence[Response]]]) -> Items[Answered]:
    """The instructions, each with the responses to it; a folder is bound to both."""

    def content(answered: Answered) -> Any:
        bare, responses = checklists.bare(answered.item.instance), [r for of in answered.responses.values() for r in of]
        return [bare, responses] if responses else bare

    return Items(
        [Answered(item, {m: of[item.instance.id] for m, of in by_model.items() if item.instance.id in of}) for item in items.every],
        lambda answered: items.name(answered.item), content, lambda answered: items.strata(answered.item), left_out=items.left_out,
        asked=lambda answered: checklists.bare(answered.item.instance),
    )  # fmt: skip


class Judging(Study[O, T, Graded, Report]):
    """What studies share that judge responses by their checklists."""

    kind, unit = "tick", "instructions"  # one board, whoever asked the models
    files, editable, prompts = FILES, checklists.EDITABLE, PROMPTS
    unforeseen = "Checklists that are yet to be written are reckoned at five questions."

    def nothing_written(self, all_known: bool) -> None:
        """Options on who writes checklists say nothing where none is written: they stay as another session had them."""
        self.unasked = {"generator"} if all_known else set()

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.settings]  # type: ignore[attr-defined]

    async def judged_responses(self, listed: Listed, responses: Mapping[str, Sequence[Response]]) -> Graded:
        """Responses that are there already, by model, judged by the checklist of their instruction."""
        judge = self.judge(self.options.settings)  # type: ignore[attr-defined]
        all_responses = [response for samples in responses.values() for response in samples]
        judgments = iter(
            await asyncio.gather(*(judged(judge, listed.instance, response) for response in all_responses))
        )
        return Graded(listed, {model: tuple(islice(judgments, len(samples))) for model, samples in responses.items()})

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts)  # type: ignore[attr-defined]


class Tick(Judging[TickOptions, Answered]):
    """Checklist, answers of every model, verdicts. Models may be added to a folder, and checklists edited in it."""

    def items(self) -> Items[Answered]:
        self.models = numbered(self.options.model)
        if self.options.logs:
            return self._logged(self.options.logs)
        loaded = checklists.load_items(self.options)
        self.nothing_written(all(item.known for item in loaded.every))
        return answered_items(loaded, {})

    def _logged(self, file: str) -> Items[Answered]:
        """The conversations of logs, each with its last answer; equal ones are samples of one."""
        logs = read_logs(
            Path(file), (), model_name=self.options.model_name, separator=self.options.criteria_separator, judged=False
        )
        warn(logs.summary)
        by_model: dict[str, dict[str, list[Response]]] = {}
        for instance, response in logs.answered:
            by_model.setdefault(response.model, {}).setdefault(instance.id, []).append(response)
        self.models = list(by_model)
        unique = {instance.id: instance for instance, _ in logs.answered}
        loaded = checklists.items_from(self.options, unique.values())
        self.nothing_written(all(item.known for item in loaded.every))
        return answered_items(replace(loaded, left_out=(*loaded.left_out, *logs.left_out)), by_model)

    async def work(self, answered: Answered) -> Graded:
        """The checklist is written before any response is there; without one nothing is answered."""
        listed, models = await checklists.checklist_for(self, answered.item), numbered(self.options.model)
        if answered.responses:
            return await self.judged_responses(listed, answered.responses)
        if not listed.criteria:
            return Graded(listed, {})
        samples = await together(self._samples(listed.instance, n, name) for n, name in enumerate(models, 1))
        return Graded(listed, dict(zip(models, samples, strict=True)))

    async def _samples(self, instance: Instance, number: int, name: str) -> list[Judged]:
        drawn = range(1, self.options.samples + 1)
        return await together(self._respond_and_judge(instance, number, name, sample) for sample in drawn)

    async def _respond_and_judge(self, instance: Instance, number: int, name: str, sample: int) -> Judged:
        part = "model" if len(self.options.model) == 1 else f"model {name}"
        caller = self.caller("model", number, part)
        response = await converse(instance, caller, self.options.sampling, sample=sample)
        return await judged(self.judge(self.options.settings), instance, replace(response, model=name))

    def score(self, done: Sequence[Graded]) -> Outcome[Report]:
        return results(self, done, self.models)


def tick(options: TickOptions) -> Report:
    """Write checklists, have models answer, judge. Writes the study into `options.out`. Raises UserError."""
    return Tick(options).run().value


_ANSWERS = ("response", "output", "completion", "answer")
_BESIDE = (*_ANSWERS, "responses", "model", "reasoning", "think", "reasoning_content")  # what is a response's own


@dataclass(frozen=True, kw_only=True)
class ScoreOptions(InstructionOptions, QuestionJudgeOptions, ChecklistOptions, StudyOptions):
    """Which responses to which instructions, by which checklists, and who judges."""

    generator: str | None = role(None, help="Who writes checklists where there are none; nobody if not given.")
    responses: tuple[str, ...] = option(
        (), panel="Data", help="File of responses to the data, as for `truebench judge`; may be repeated, e.g. one file a "
        "model. Where rows do not say whose they are the file's name does."
    )  # fmt: skip

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.data is None:
            raise UserError("--instruction has no response; give --data with responses, or with --responses FILE")


class Score(Judging[ScoreOptions, Answered]):
    """Every response to every instruction, question by question."""

    def items(self) -> Items[Answered]:
        rows = list(map(_apart, checklists.load_records(self.options)))
        unique = {_instruction(record): record for record in reversed(rows)}  # the first of those that are alike
        firsts = [record for record in rows if unique[_instruction(record)] is record]
        read = checklists.rows_to_instances(self.options, firsts)
        ids = {_instruction(record): instance.id for record, instance in zip(firsts, read, strict=True)}
        loaded = checklists.items_from(self.options, read)
        self.nothing_written(self.options.generator is None or all(item.known for item in loaded.every))
        own = [answer for record in rows for answer in _in_row(record, ids[_instruction(record)])]
        by_model = _responses(self.options, own, [item.instance for item in loaded.every])
        self.models = list(by_model)
        return answered_items(loaded, by_model)

    async def work(self, answered: Answered) -> Graded:
        return await self.judged_responses(await self._listed(answered.item), answered.responses)

    async def _listed(self, item: Item) -> Listed:
        if item.known or self.options.generator:
            return await checklists.checklist_for(self, item)
        return Listed(item.instance, "", problem="there is none in the data or in --checklists, and no --generator")

    def score(self, done: Sequence[Graded]) -> Outcome[Report]:
        return results(self, done, self.models)


def _apart(record: Record) -> Record:
    """A conversation that ends with the answer as one that ends with the instruction, and the answer beside it."""
    messages = record.row.get("messages")
    if (
        not isinstance(messages, list)
        or not messages
        or not isinstance(messages[-1], dict)
        or messages[-1].get("role") != "assistant"
    ):
        return record
    if any(record.row.get(name) is not None for name in _ANSWERS):
        raise record.wrong("messages", "ends with an answer, and the row has another; leave out one")
    return replace(record, row={**record.row, "messages": messages[:-1], "response": messages[-1].get("content")})


def _instruction(record: Record) -> str:
    """All of a row but its response: equal for rows that are one instruction."""
    return canonical({name: value for name, value in record.row.items() if name not in _BESIDE})


def _responses(
    options: ScoreOptions, own: Sequence[Answers], instances: Sequence[Instance]
) -> dict[str, dict[str, list[Response]]]:
    """Model -> id -> responses: those of `--responses`, else those in the rows of the data."""
    files = [(path, list(read_answers(path))) for path in map(Path, options.responses)]
    by_model = responses_by_model(instances, files or [(Path(str(options.data)), own)])
    if not by_model:
        raise UserError(
            f"--data {options.data}: no row has a response ({', '.join(_ANSWERS)}); give them by --responses FILE"
        )
    return by_model


def _in_row(record: Record, id: str) -> Iterator[Answers]:
    """The response in a row, or its `responses`, objects with text and model; of one model's the second is `model 2`."""
    responses = record.row.get("responses")
    if not isinstance(responses, list):
        row = {name: record.row[name] for name in (*_ANSWERS, *_BESIDE) if record.row.get(name) is not None}
        if any(name in row for name in _ANSWERS):
            yield of_row(row | {"id": id}, record.where)
        return
    names: list[str] = []
    for part in record.parts("responses"):
        names.append(part.maybe("model") or "response")
        again = names.count(names[-1])
        model = names[-1] if again == 1 else f"{names[-1]} {again}"
        yield Answers(part.where, part.text("text"), id, model=model)


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
    files = (checklists.FILE, "checklists.json")
    editable = checklists.EDITABLE

    def items(self) -> Items[Item]:
        return checklists.load_items(self.options)

    def check(self) -> None:
        check_prompts(self.prompts, self.options.prompts)

    async def work(self, item: Item) -> Listed:
        return await checklists.checklist_for(self, item)

    def score(self, done: Sequence[Listed]) -> Outcome[list[dict[str, Any]]]:
        rows = checklists.with_others(self.options, [checklists.to_row(listed) for listed in done])
        summary = checklists.summary(done)
        files: dict[str, Any] = {
            checklists.FILE: rows,
            "checklists.json": summary | {"rows_left_out": list(self.all.left_out)},
        }
        sections = [
            *(_questions(done[0]) if len(done) == 1 else []),
            *checklists.sections(summary),
            without_answers(done),
        ]
        return Outcome(rows, files, "Checklists", sections, incomplete=len(summary["without"]))


def _questions(listed: Listed) -> list[Section]:
    """The questions themselves, where there is only one checklist to look at."""
    rows = tuple((number, criterion.text) for number, criterion in enumerate(listed.criteria, 1))
    return [Grid("Questions", (), rows, prose=(1,))] if rows else []
