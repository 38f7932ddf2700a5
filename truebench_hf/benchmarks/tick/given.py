"""`truebench study checklist score`: responses that are there already, judged by checklists (paper 004, section 3.1.2).

A row of the data may hold its response (`response`, `output`, `completion`, `answer`, or the last of its `messages`) and
`model`; rows that differ in nothing else are one instruction with several models' responses. Others come from files by
`--responses`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from truebench_hf.benchmarks.tick import source
from truebench_hf.benchmarks.tick.options import ChecklistOptions, InstructionOptions, QuestionJudgeOptions
from truebench_hf.benchmarks.tick.results import judged, results
from truebench_hf.benchmarks.tick.scores import Graded
from truebench_hf.benchmarks.tick.source import Item, Listed
from truebench_hf.benchmarks.tick.study import Judging
from truebench_hf.data.answer_files import Answers, of_row, read_answers
from truebench_hf.data.given_responses import responses_by_model
from truebench_hf.data.judged import Judged
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical
from truebench_hf.options import option, role
from truebench_hf.results.report import Report
from truebench_hf.study.items import Items
from truebench_hf.study.options import StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Instance, Response

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


@dataclass(frozen=True, slots=True)
class Answered:
    """An instruction with the responses to it by model, several samples or one."""

    item: Item
    responses: Mapping[str, Sequence[Response]]


class Score(Judging[ScoreOptions, Answered]):
    """Every response to every instruction, question by question."""

    def items(self) -> Items[Answered]:
        rows = list(map(_apart, source.records(self.options)))
        unique = {_instruction(record): record for record in reversed(rows)}  # the first of those that are alike
        firsts = [record for record in rows if unique[_instruction(record)] is record]
        read = source.rows_to_instances(self.options, firsts)
        ids = {_instruction(record): instance.id for record, instance in zip(firsts, read, strict=True)}
        found = source.items_of(self.options, read)
        self.nothing_written(self.options.generator is None or all(item.known for item in found.every))
        own = [answer for record in rows for answer in _in_row(record, ids[_instruction(record)])]
        by_model = _responses(self.options, own, [item.instance for item in found.every])
        self.models = list(by_model)
        return Items(
            [Answered(item, {m: of[item.instance.id] for m, of in by_model.items()}) for item in found.every],
            lambda one: found.name(one.item),
            lambda one: [source.bare(one.item.instance), [one for of in one.responses.values() for one in of]],
            lambda one: found.strata(one.item), left_out=found.left_out, asked=lambda one: source.bare(one.item.instance),
        )  # fmt: skip

    async def work(self, one: Answered) -> Graded:
        listed = await self._listed(one.item)
        every = [response for samples in one.responses.values() for response in samples]
        found = iter(await asyncio.gather(*(self._one(listed, response) for response in every)))
        return Graded(listed, {m: tuple(islice(found, len(samples))) for m, samples in one.responses.items()})

    async def _listed(self, item: Item) -> Listed:
        if item.known or self.options.generator:
            return await source.checklist(self, item)
        return Listed(item.instance, "", problem="there is none in the data or in --checklists, and no --generator")

    async def _one(self, listed: Listed, response: Response) -> Judged:
        return await judged(self.judge(self.options.settings), listed.instance, response)

    def score(self, done: Sequence[Graded]) -> Outcome[Report]:
        return results(self, done, self.models)


def _apart(record: Record) -> Record:
    """A conversation that ends with the answer as one that ends with the instruction, and the answer beside it."""
    said = record.row.get("messages")
    if not isinstance(said, list) or not said or not isinstance(said[-1], dict) or said[-1].get("role") != "assistant":
        return record
    if any(record.row.get(name) is not None for name in _ANSWERS):
        raise record.wrong("messages", "ends with an answer, and the row has another; leave out one")
    return replace(record, row={**record.row, "messages": said[:-1], "response": said[-1].get("content")})


def _instruction(record: Record) -> str:
    """All of a row but its response: equal for rows that are one instruction."""
    return canonical({name: value for name, value in record.row.items() if name not in _BESIDE})


def _responses(
    options: ScoreOptions, own: Sequence[Answers], instances: Sequence[Instance]
) -> dict[str, dict[str, list[Response]]]:
    """Model -> id -> responses: those of `--responses`, else those in the rows of the data."""
    files = [(path, list(read_answers(path))) for path in map(Path, options.responses)]
    found = responses_by_model(instances, files or [(Path(str(options.data)), own)])
    if not found:
        raise UserError(
            f"--data {options.data}: no row has a response ({', '.join(_ANSWERS)}); give them by --responses FILE"
        )
    return found


def _in_row(record: Record, id: str) -> Iterator[Answers]:
    """The response in a row, or its `responses`, objects with text and model; of one model's the second is `model 2`."""
    several = record.row.get("responses")
    if not isinstance(several, list):
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
