"""Rows in the columns of `rubric_eval`, one rubric judgment each, back to whole responses with their checklists."""

from __future__ import annotations

from pathlib import Path
from typing import cast, get_args

from truebench_hf.loaders.sources.common import Category, RubricSource
from truebench_hf.loaders.sources.record import Record, records
from truebench_hf.types import Criterion


def read(path: Path) -> list[RubricSource]:
    """One source per response, with all its rubrics; kinds come from `rubric_type` where a row stands for the rubric.

    `meta["labels"]` holds the labels, parallel to the rubrics, None where no row stands for one.
    """
    groups: dict[str, list[Record]] = {}
    for record in records(path):
        groups.setdefault(record.id("response_id"), []).append(record)
    return [_source(name, group) for name, group in groups.items()]


def _source(name: str, group: list[Record]) -> RubricSource:
    first = group[0]
    category = first.text("instruction_category")
    if category not in get_args(Category):
        raise first.wrong("instruction_category", f"is {category!r}, which is none of {', '.join(get_args(Category))}")
    checklist = first.texts("checklist")
    kinds: list[str | None] = [None] * len(checklist)
    labels: list[str | None] = [None] * len(checklist)
    for record in group:
        place = _place(record, checklist)
        kinds[place], labels[place] = record.maybe("rubric_type"), record.maybe("label")
    response = first.row.get("response")
    if response is not None and not isinstance(response, str):
        raise first.wrong("response", "must be a text or null")
    rubrics = tuple(Criterion(text, kind) for text, kind in zip(checklist, kinds, strict=True))
    meta = {
        "instruction_id": first.id("instruction_id"),
        "response_model": first.maybe("response_model"),
        "context": first.maybe("context"),
        "labels": tuple(labels),
    }
    return RubricSource(
        name, first.text("source_benchmark"), cast(Category, category), first.text("language"),
        first.messages("messages"), rubrics, response=response, meta=meta,
    )  # fmt: skip


def _place(record: Record, checklist: list[str]) -> int:
    """The number of this row's rubric in the checklist, which all rows of a response must share."""
    if record.texts("checklist") != checklist:
        raise record.wrong("checklist", "differs from that of the response's first row")
    place = record.row.get("rubric_index")
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(checklist):
        raise record.wrong("rubric_index", f"must be a number from 0 to {len(checklist) - 1}")
    if record.text("rubric") != checklist[place]:
        raise record.wrong("rubric", f"is not entry {place} of the checklist")
    return place
