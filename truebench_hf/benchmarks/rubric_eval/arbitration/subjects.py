"""What is to be labelled: one response (there already, or still to be had) with all its rubrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.errors import UserError
from truebench_hf.judging.case import Case
from truebench_hf.types import Criterion, Message


@dataclass(frozen=True)
class Subject:
    """One instruction with its rubrics. `ids` names the judgment of each rubric; `response` is None until there is one.

    `reference` is an answer that the source ships as an example; it is labelled only when the user asks for it.
    """

    instruction_id: str
    response_id: str
    source: str
    category: str
    language: str
    messages: tuple[Message, ...]
    rubrics: tuple[Criterion, ...]
    ids: tuple[str, ...]
    response: str | None = None
    response_model: str = ""
    reference: str | None = None
    context: str | None = None

    def case(self, chosen: Sequence[int]) -> Case:
        """What a judge is shown of the rubrics at the positions `chosen`."""
        assert self.response is not None, "a subject is judged once it has a response"
        criteria = tuple(self.rubrics[i] for i in chosen)
        last, before = self.messages[-1], self.messages[:-1]
        return Case(last.content, self.response, criteria, before, self.context, self.category)


def load(data: str, limit: int | None = None) -> list[Subject]:
    """The subjects of `SOURCE:PATH` (see `truebench_hf.loaders.sources`) or of rubric_eval rows; the first `limit`.

    Raises UserError where the data cannot be read or holds no rubrics.
    """
    kind, colon, path = data.partition(":")
    if limit is not None and limit < 1:
        raise UserError(f"--limit {limit}: must be at least 1")
    if colon and kind.isidentifier():
        from truebench_hf.loaders.sources import read

        subjects = [from_source(record) for record in read(kind, path)]
    else:
        subjects = [_from_item(item) for item in rubric_rows.items(rubric_rows.load(data))]
    if not (subjects := [subject for subject in subjects if subject.rubrics]):
        raise UserError(f"--data {data}: holds no rubrics")
    return subjects[:limit]


def from_source(record: Any) -> Subject:
    """A subject from a `RubricSource`. What is still to be answered gets a response id of its own."""
    # Two outputs of one pair answer the same instruction.
    instruction = str(record.meta.get("instruction_id") or record.meta.get("pair") or record.id)
    response_id = record.id if instruction != record.id else f"{record.id}-r0"
    ids = tuple(f"{response_id}-c{i}" for i in range(len(record.rubrics)))
    shipped = str(record.meta.get("response_model") or record.source) if record.response is not None else ""
    return Subject(
        instruction, response_id, record.source, record.category, record.language, tuple(record.messages),
        tuple(record.rubrics), ids, record.response, shipped, record.reference, record.meta.get("context"),
    )  # fmt: skip


def _from_item(item: rubric_rows.Item) -> Subject:
    case = item.case
    known = {rubric.index: rubric.id for rubric in item.rubrics}
    ids = tuple(known.get(i, f"{item.id}-c{i}") for i in range(len(case.criteria)))
    messages = (*case.history, Message("user", case.instruction))
    return Subject(
        item.instruction_id, item.id, item.source, item.category, item.language, messages, case.criteria, ids,
        case.response, item.model, context=case.context,
    )  # fmt: skip
