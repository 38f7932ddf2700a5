"""The common form of every source of rubrics: an item of `rubric_eval`, with labels where people gave them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from truebench_hf.benchmarks.rubric_eval.item import Item, Rubric
from truebench_hf.benchmarks.rubric_eval.rubric_types import RUBRIC_TYPES
from truebench_hf.data.instances import criterion
from truebench_hf.data.rows import Record
from truebench_hf.judging.case import Case, category_shown, stated
from truebench_hf.types import Criterion, Label, Message

Category = Literal["constrained", "compositional", "multi_turn", "system"]


def source_item(
    name: str,
    source: str,
    category: Category,
    language: str,
    messages: Sequence[Message],
    criteria: Sequence[Criterion],
    *,
    labels: Sequence[Label | None] = (),
    response: str | None = None,
    response_id: str = "",
    model: str = "",
    example: str | None = None,
    reference: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Item:
    """One instruction of a source with its rubrics (paper 003, section 3.1 and appendices A and B).

    `messages` end with the user message that is to be answered, system message and earlier turns before it. `response`
    is an answer to be judged, None where the source has none, by `model` where it says so; `labels` are what people said
    of it, one for each criterion. `example` is one that it ships as a good one, `reference` one that it holds responses
    against (CFBench's criteria say "matches the reference answer"), so that judges are shown it; elsewhere it would only
    sway them. The kinds of criteria are the source's; those of a type of ours are
    known, the others are hints. `language` is a two-letter code in capitals, "UND" where the record does not say.
    `facts` go by the source's own field names.
    """
    history, criteria = tuple(messages[:-1]), tuple(criteria)
    case = Case(messages[-1].content, response or "", criteria, history, None, category, reference)
    response_id = response_id or f"{name}-r0"
    said = labels or (None,) * len(criteria)
    return Item(
        response_id, name, category, language, source, "" if response is None else model or source, case,
        tuple(
            _rubric(f"{response_id}-c{i}", i, criterion, label)
            for i, (criterion, label) in enumerate(zip(criteria, said, strict=True))
        ),
        response is not None, example or reference, facts or {},
    )  # fmt: skip


def _rubric(name: str, index: int, criterion: Criterion, label: Label | None) -> Rubric:
    kind = criterion.kind if criterion.kind in RUBRIC_TYPES else None
    return Rubric(name, index, stated(criterion), label, kind, hint="" if kind else criterion.kind or "")


def asked(record: Record, name: str) -> tuple[Message, ...]:
    """A conversation that ends with the user's message to be answered. Raises UserError."""
    messages = record.messages(name)
    if messages[-1].role != "user":
        raise record.wrong(name, "must end with a user message")
    return messages


def category_of(messages: Sequence[Message]) -> Category:
    """RubricEval's category that a conversation shows by itself; "compositional" shows in no conversation."""
    return category_shown(messages[:-1]) or "constrained"


def weighted(record: Record, name: str, kind: str | None = None) -> list[Criterion]:
    """The criteria of a list of objects with a text and points (see `truebench_hf.data.instances`), signs kept.

    `kind` names the field that tells the kind of each, a text or several. Raises UserError.
    """
    found = (criterion(record, name, place, value) for place, value in enumerate(record.items(name)))
    if kind is None:
        return list(found)
    kinds = (", ".join(part.words(kind)) or None for part in record.parts(name))
    return [replace(one, kind=its) for one, its in zip(found, kinds, strict=True)]
