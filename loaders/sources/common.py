"""The common form of every source of rubrics: an item of `rubric_eval`, whose rubrics have no labels yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from truebench_hf.benchmarks.rubric_eval.item import Item, Rubric
from truebench_hf.benchmarks.rubric_eval.rubric_types import RUBRIC_TYPES
from truebench_hf.judging.case import Case, stated
from truebench_hf.types import Criterion, Message

Category = Literal["constrained", "compositional", "multi_turn", "system"]


def source_item(
    name: str,
    source: str,
    category: Category,
    language: str,
    messages: Sequence[Message],
    criteria: Sequence[Criterion],
    *,
    response: str | None = None,
    response_id: str = "",
    example: str | None = None,
    reference: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Item:
    """One instruction of a source with its rubrics (paper 003, section 3.1 and appendices A and B).

    `messages` end with the user message that is to be answered, system message and earlier turns before it. `response`
    is an answer to be judged, None where the source has none. `example` is one that it ships as a good one, `reference`
    one that it holds responses against (CFBench's criteria say "matches the reference answer"), so that judges are
    shown it; elsewhere it would only sway them. The kinds of criteria are the source's; those of a type of ours are
    known, the others are hints. `language` is a two-letter code in capitals, "UND" where the record does not say.
    `facts` go by the source's own field names.
    """
    history, criteria = tuple(messages[:-1]), tuple(criteria)
    case = Case(messages[-1].content, response or "", criteria, history, None, category, reference)
    response_id = response_id or f"{name}-r0"
    return Item(
        response_id, name, category, language, source, "" if response is None else source, case,
        tuple(_rubric(f"{response_id}-c{i}", i, criterion) for i, criterion in enumerate(criteria)),
        response is not None, example or reference, facts or {},
    )  # fmt: skip


def _rubric(name: str, index: int, criterion: Criterion) -> Rubric:
    kind = criterion.kind if criterion.kind in RUBRIC_TYPES else None
    return Rubric(name, index, stated(criterion), kind=kind, hint="" if kind else criterion.kind or "")
