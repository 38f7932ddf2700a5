"""Rows in the columns of `rubric_eval`, one rubric judgment each, back to whole responses with their checklists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast, get_args

from truebench_hf.loaders.sources.common import Category, RubricSource
from truebench_hf.loaders.sources.kept import Kept, kept
from truebench_hf.rows import Record
from truebench_hf.types import Criterion


def read(path: Path, strict: bool = False) -> Kept[RubricSource]:
    """One source per response, with all its rubrics; kinds come from `rubric_type` where a row stands for the rubric.

    `meta["labels"]` holds the labels, parallel to the rubrics, None where no row stands for one. `reference` is what a
    judge of the row is shown.
    """
    groups: dict[str, RubricSource] = {}

    def add(record: Record) -> list[RubricSource]:
        name, made = record.id("response_id"), _source(record)
        groups[name] = _with_row(record, groups.get(name, made), made)
        return []

    return Kept(groups.values(), kept(path, add, strict=strict).left_out)


def _with_row(record: Record, known: RubricSource, made: RubricSource) -> RubricSource:
    """A response with one row more; all its rows must tell the same of it."""
    if made.rubrics != tuple(replace(rubric, kind=None) for rubric in known.rubrics):
        raise record.wrong("checklist", "differs from that of the response's first row")
    place = _place(record, [rubric.text for rubric in made.rubrics])
    rubrics, labels = list(known.rubrics), list(known.meta["labels"])
    rubrics[place] = replace(rubrics[place], kind=record.maybe("rubric_type"))
    labels[place] = record.maybe("label")
    return replace(known, rubrics=tuple(rubrics), meta={**known.meta, "labels": tuple(labels)})


def _source(record: Record) -> RubricSource:
    """What a row tells of its response; of its rubrics the texts alone."""
    category = record.text("instruction_category")
    if category not in get_args(Category):
        raise record.wrong("instruction_category", f"is {category!r}, which is none of {', '.join(get_args(Category))}")
    response = record.row.get("response")
    if response is not None and not isinstance(response, str):
        raise record.wrong("response", "must be a text or null")
    rubrics = tuple(map(Criterion, record.texts("checklist")))
    meta = {
        "instruction_id": record.id("instruction_id"),
        "response_model": record.maybe("response_model"),
        "context": record.maybe("context"),
        "labels": (None,) * len(rubrics),
    }
    reference = record.maybe("reference")
    return RubricSource(
        record.id("response_id"), record.text("source_benchmark"), cast(Category, category), record.text("language"),
        record.messages("messages"), rubrics, response, reference, reference is not None, meta,
    )  # fmt: skip


def _place(record: Record, checklist: list[str]) -> int:
    """The number of this row's rubric in the checklist."""
    place = record.row.get("rubric_index")
    if isinstance(place, bool) or not isinstance(place, int) or not 0 <= place < len(checklist):
        raise record.wrong("rubric_index", f"must be a number from 0 to {len(checklist) - 1}")
    if record.text("rubric") != checklist[place]:
        raise record.wrong("rubric", f"is not entry {place} of the checklist")
    return place
