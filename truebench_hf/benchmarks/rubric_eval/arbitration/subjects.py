"""What is to be labelled: one response (there already, or still to be had) with all its rubrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data as rubric_rows
from truebench_hf.errors import UserError
from truebench_hf.judging.case import Case
from truebench_hf.loaders.sources import read
from truebench_hf.loaders.sources.kept import Kept, LeftOut
from truebench_hf.types import Criterion, Message


@dataclass(frozen=True)
class Subject:
    """One instruction with its rubrics. `ids` names the judgment of each rubric; `response` is None until there is one.

    `reference` is an answer that the source ships as an example; it is labelled only when the user asks for it, and
    judges are shown it only with `judged_by_reference` (see `RubricSource`).
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
    judged_by_reference: bool = False

    @property
    def shown_reference(self) -> str | None:
        """The reference, where judges are to decide with it at hand."""
        return self.reference if self.judged_by_reference else None

    def case(self, chosen: Sequence[int]) -> Case:
        """What a judge is shown of the rubrics at the positions `chosen`."""
        assert self.response is not None, "a subject is judged once it has a response"
        criteria = tuple(self.rubrics[i] for i in chosen)
        last, before = self.messages[-1], self.messages[:-1]
        return Case(last.content, self.response, criteria, before, self.context, self.category, self.shown_reference)


def load(data: str, strict: bool = False) -> Kept[Subject]:
    """The subjects of `SOURCE:PATH` (see `truebench_hf.loaders.sources`) or of rubric_eval rows.

    Rows of a source that cannot be used are left out and told, or with `strict` an error; in rubric_eval rows they
    always are. Raises UserError where the data cannot be read or holds no rubrics.
    """
    kind, colon, path = data.partition(":")
    left_out = LeftOut()
    if colon and kind.isidentifier():
        found = read(kind, path, strict=strict)
        left_out, subjects = found.left_out, [from_source(record) for record in found]
    else:
        subjects = [_from_item(item) for item in rubric_rows.items(rubric_rows.load(data))]
    if not (subjects := [subject for subject in subjects if subject.rubrics]):
        raise UserError(f"--data {data}: holds no rubrics")
    return Kept(subjects, left_out)


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
        record.judged_by_reference,
    )  # fmt: skip


def _from_item(item: rubric_rows.Item) -> Subject:
    case = item.case
    known = {rubric.index: rubric.id for rubric in item.rubrics}
    ids = tuple(known.get(i, f"{item.id}-c{i}") for i in range(len(case.criteria)))
    messages = (*case.history, Message("user", case.instruction))
    return Subject(
        item.instruction_id, item.id, item.source, item.category, item.language, messages, case.criteria, ids,
        case.response, item.model, case.reference, case.context, case.reference is not None,
    )  # fmt: skip
