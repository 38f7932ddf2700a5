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
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from truebench_hf.benchmarks.tick import checklists
from truebench_hf.benchmarks.tick.checklists import ChecklistItem, ChecklistOptions, InstructionOptions
from truebench_hf.benchmarks.tick.scoring import FILES, GradedResponse, judged, results
from truebench_hf.data.answer_files import of_row, read_answers, responses_by_model
from truebench_hf.data.judged import Judged
from truebench_hf.data.logs import read_logs
from truebench_hf.data.rows import Record, fold, words
from truebench_hf.engine.pool import together
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import JudgeSettings
from truebench_hf.judging.signed_asking import JUDGE_SAMPLING
from truebench_hf.models.asking import converse
from truebench_hf.options import Binds, columns, flag, option, role
from truebench_hf.results.report import Report
from truebench_hf.study import options as shared
from truebench_hf.study.items import Items
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.study import O, Study
from truebench_hf.text.terminal import warn
from truebench_hf.types import Response

ByModel = Mapping[str, Mapping[str, Sequence[Response]]]  # model -> id -> responses, its samples


class QuestionJudgeOptions(shared.JudgingOptions):
    """Who answers the questions of checklists, each in a call of its own (paper 004, section 3.1.2)."""

    PANEL: ClassVar[str] = "Judging"

    judge: str = role(help="Judge: answers every question on every response.", binds=Binds(late=True))
    votes: int = option(1, ge=1, binds=Binds(late=True), help="Votes per question (maj@k); several need a temperature.")
    judge_temperature: float = option(0.0, ge=0, binds=Binds(late=True), help="Sampling temperature of the judge.")

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.decides(self.judge) and (self.votes > 1 or self.judge_temperature):
            raise UserError("--votes and --judge-temperature go with --judge-level rubric: a probability is one vote")

    @property
    def usual_rules(self) -> str:
        """Rules answer the questions that they can."""
        return "decide"

    @property
    def settings(self) -> JudgeSettings:
        """How the judge decides. Raises UserError on several votes without a temperature."""
        sampling = replace(JUDGE_SAMPLING, temperature=self.judge_temperature)
        return replace(self.judging(self.judge, "rubric"), votes=self.votes, sampling=sampling)


class LogsOptions(InstructionOptions):
    """Conversations with their answers, in place of instructions and of whatever else says who answers them."""

    PANEL: ClassVar[str] = "Data"
    IN_PLACE_OF: ClassVar[tuple[str, ...]] = ("data", "instruction", "column")

    logs: str | None = option(
        None, help="Logs of conversations with their answers, as for `truebench judge`, in place of all other data: the "
        "last answer of each is judged by a checklist for what it answers."
    )  # fmt: skip
    model_name: str | None = option(None, help="Whose answers those given are, where the file does not say.")

    def model_post_init(self, context: Any) -> None:
        if self.logs and (others := [flag(name) for name in self.IN_PLACE_OF if getattr(self, name)]):
            raise UserError(f"--logs holds prompts and answers; leave out {' and '.join(others)}")
        super().model_post_init(context)


class TickOptions(
    LogsOptions, QuestionJudgeOptions, ChecklistOptions, shared.WritingOptions, shared.RepeatOptions,
    shared.StudyOptions, shared.FailUnderOptions,
):  # fmt: skip
    """Which models answer which instructions, who writes the checklists, and who judges."""

    IN_PLACE_OF: ClassVar[tuple[str, ...]] = (*LogsOptions.IN_PLACE_OF, "model")

    model: tuple[str, ...] = role(
        (), help="Model under test: smollm2, hf:, vllm:, openai: or scripted: spec; may be repeated.",
        binds=Binds("model", lambda options: shared.numbered(options.model), grows=True),
    )  # fmt: skip

    def model_post_init(self, context: Any) -> None:
        if not (self.model or self.logs):
            raise UserError("name at least one --model, or --logs with answers that are there already")
        if self.samples > 1 and self.logs:
            raise UserError("--samples are answers of a --model; those of --logs that ask the same are samples already")
        super().model_post_init(context)


class ChecklistJudging(Study[O, ChecklistItem, GradedResponse, Report]):
    """What both studies share that judge responses by their checklists."""

    kind, unit = "tick", "instructions"  # one board, whoever asked the models
    files, editable, prompts = FILES, checklists.EDITABLE, checklists.PROMPTS
    unforeseen = "Checklists that are yet to be written are reckoned at five questions."

    def answered_items(self, items: Items[ChecklistItem], by_model: ByModel) -> Items[ChecklistItem]:
        """The instructions, each with the responses to it; a folder is bound to both.

        Options on who writes checklists say nothing where none is written: they stay as another session had them.
        """
        self.models = list(by_model)
        if not self.options.writer or all(item.known for item in items.every):  # type: ignore[attr-defined]
            self.unasked = {"generator"}
        answered = []
        for item in items.every:
            responses = {model: of[item.instance.id] for model, of in by_model.items() if item.instance.id in of}
            answered.append(replace(item, responses=responses))

        def content(item: ChecklistItem) -> Any:
            responses = [response for samples in item.responses.values() for response in samples]
            return [checklists.bare(item.instance), responses] if responses else checklists.bare(item.instance)

        return replace(items, every=answered, content=content, asked=lambda item: checklists.bare(item.instance))

    def judge_settings(self) -> list[JudgeSettings]:
        return [self.options.settings]  # type: ignore[attr-defined]

    def score(self, done: Sequence[GradedResponse]) -> Outcome[Report]:
        return results(self, done, self.models)

    def logged_items(self, file: str) -> Items[ChecklistItem]:
        """The conversations of logs, each with its last answer; equal ones are samples of one."""
        options: Any = self.options
        logs = read_logs(
            Path(file), (), model_name=options.model_name, separator=options.criteria_separator, judged=False
        )
        warn(logs.summary)
        by_model: defaultdict[str, dict[str, list[Response]]] = defaultdict(dict)
        for instance, response in logs.answered:
            by_model[response.model].setdefault(instance.id, []).append(response)
        loaded = checklists.items_from(options, list({instance.id: instance for instance, _ in logs.answered}.values()))
        return self.answered_items(replace(loaded, left_out=(*loaded.left_out, *logs.left_out)), by_model)

    async def work(self, item: ChecklistItem) -> GradedResponse:
        """Every response that is there, judged by the checklist of its instruction."""
        listed, judge = await checklists.checklist_for(self, item), self.judge(self.judge_settings()[0])
        samples = [response for responses in item.responses.values() for response in responses]
        judgments = iter(await asyncio.gather(*(judged(judge, listed.instance, response) for response in samples)))
        by_model = {model: tuple(islice(judgments, len(of))) for model, of in item.responses.items()}
        return GradedResponse(listed, by_model)


class Tick(ChecklistJudging[TickOptions]):
    """Checklist, answers of every model, verdicts. Models may be added to a folder, and checklists edited in it."""

    def items(self) -> Items[ChecklistItem]:
        if self.options.logs:
            return self.logged_items(self.options.logs)
        names = shared.numbered(self.options.model)
        return self.answered_items(checklists.load_items(self.options), {name: {} for name in names})

    async def work(self, item: ChecklistItem) -> GradedResponse:
        """The checklist is written before any response is there; without one nothing is answered."""
        if self.options.logs:
            return await super().work(item)
        listed = await checklists.checklist_for(self, item)
        if not listed.criteria:
            return GradedResponse(listed, {})
        instance, options = listed.instance, self.options

        async def sampled(number: int, name: str, sample: int) -> Judged:
            caller = self.caller("model", number, "model" if len(self.models) == 1 else f"model {name}")
            response = await converse(instance, caller, options.sampling, sample=sample)
            return await judged(self.judge(options.settings), instance, replace(response, model=name))

        samples = await together(
            together([sampled(number, name, sample) for sample in range(1, options.samples + 1)])
            for number, name in enumerate(self.models, 1)
        )
        return GradedResponse(listed, dict(zip(self.models, samples, strict=True)))


class ScoreOptions(LogsOptions, QuestionJudgeOptions, ChecklistOptions, shared.StudyOptions, shared.FailUnderOptions):
    """Which responses to which instructions, by which checklists, and who judges."""

    WRITER: ClassVar[str] = ""
    IN_PLACE_OF: ClassVar[tuple[str, ...]] = (*LogsOptions.IN_PLACE_OF, "responses")

    generator: str | None = role(None, help="Who writes checklists where there are none; nobody if not given.")
    responses: tuple[str, ...] = option(
        (), panel="Data", help="File of responses to the data, as for `truebench judge`; may be repeated, e.g. one file a "
        "model. Where rows do not say whose they are the file's name does. Without one those in the rows of the data."
    )  # fmt: skip

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        if self.instruction is not None:
            raise UserError("--instruction has no response; give --data with responses, --responses FILE, or --logs")


class ScoreChecklists(ChecklistJudging[ScoreOptions]):
    """Every response to every instruction, question by question."""

    def items(self) -> Items[ChecklistItem]:
        options = self.options
        if options.logs:
            return self.logged_items(options.logs)
        rows = [row for record in checklists.load_records(options) for row in _by_response(record)]
        loaded = checklists.items_from(options, checklists.rows_to_instances(options, rows, repeated=True))
        files = [(path, list(read_answers(path))) for path in map(Path, options.responses)]
        if not files:
            # The id and the prompt stand under our names, whatever the data calls them.
            ours = {name: theirs[0] for name, theirs in columns(options.column).items() if name in ("id", "prompt")}
            answers = [
                of_row({**row.row, **{name: row.row.get(theirs) for name, theirs in ours.items()}}, row.where)
                for row in rows if _has_answer(row)
            ]  # fmt: skip
            files = [(Path(str(options.data)), answers)]
        by_model = responses_by_model([item.instance for item in loaded.every], files, options.model_name)
        if not by_model:
            remedy = "give them by --responses FILE, conversations that end with one by --logs"
            raise UserError(f"--data {options.data}: no row has a response (output, answer ...); {remedy}")
        return self.answered_items(loaded, by_model)


def _has_answer(record: Record) -> bool:
    return any(fold(name) in words("answers") and value is not None for name, value in record.row.items())


def _by_response(record: Record) -> Iterator[Record]:
    """A row for each response: of a row of the `checklists` form, where of one model's the second is `model 2`, and of a
    conversation that ends with it."""
    row = dict(record.row)
    messages, responses = row.get("messages"), row.get("responses")
    if not isinstance(responses, list):
        last = messages[-1] if isinstance(messages, list) and messages else None
        if isinstance(last, dict) and last.get("role") == "assistant" and not _has_answer(record):
            row |= {"messages": messages[:-1], "response": last.get("content")}  # type: ignore[index]
        yield replace(record, row=row)
        return
    del row["responses"]
    counts: Counter[str] = Counter()
    for part in record.parts("responses"):
        name = part.maybe("model") or "response"
        counts[name] += 1
        model = name if counts[name] == 1 else f"{name} {counts[name]}"
        yield replace(record, where=part.where, row={**row, "response": part.text("text"), "model": model})
