"""Rows of RubricEval as they are published: whole, labelled, and in one of its splits (paper 003, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Self

from pydantic import PlainValidator, model_validator

from truebench_hf.data.rows import Id, MaybeText, Record, Row, Text, Texts
from truebench_hf.data.rubrics import COLUMNS, Kind, RubricRow, one_of
from truebench_hf.errors import unknown

SPLITS = ("easy", "hard", "test")  # test: what did not come out of an arbitration, such as contrast pairs
Split = Annotated[str, PlainValidator(partial(one_of, SPLITS))]


def renamed(record: Record, columns: Mapping[str, str], split: str) -> Record:
    """The row under our names (`columns` maps those of `COLUMNS`, or `split`, to the file's own); a file that is named
    by a split says which it is of. Raises UserError on a name that is none of ours."""
    for ours in columns:
        if ours not in (*COLUMNS, "split"):
            raise unknown("column", ours, (*COLUMNS, "split"))
    row = {**record.row, **{ours: record.row.get(theirs) for ours, theirs in columns.items()}}
    return replace(record, row=row | ({"split": split} if split in SPLITS else {}))


def split_of(record: Record) -> str | None:
    """The split of a row, None where it is none."""
    try:
        return one_of(SPLITS, record.row.get("split"))
    except ValueError:
        return None


class Annotation(Row):
    """What an annotator said; no label where they gave none."""

    annotator: Text
    label: MaybeText = None


class Rationale(Row):
    """Why a judge said so; nothing where it gave no reason."""

    judge: Text
    rationale: MaybeText = None


class PublishedRow(RubricRow):
    """A row of which only ids of rows, places in checklists and dimensions may be left out.

    Sources name types of their own, so that arbitration leaves some rows without one; `truebench study taxonomy` finds
    it.
    """

    instruction_id: Id
    response_id: Id
    response_model: Text
    source_benchmark: Text
    language: Text
    checklist: Texts
    rubric_type: Kind | None
    label_source: Text = "unstated"
    annotations: tuple[Annotation, ...] = ()
    rationales: tuple[Rationale, ...] = ()

    @model_validator(mode="after")
    def _is_labelled(self) -> Self:
        if self.label is None:
            raise ValueError("field 'label' must be yes or no in this set")
        return self


def row(record: Record) -> dict[str, Any]:
    """One row in the columns of `COLUMNS`, checked. Raises UserError naming where it stands and the field."""
    made = record.read(PublishedRow).model_dump()
    made["id"] = made["id"] or f"{made['response_id']}-c{made['rubric_index']}"
    return {column: made[column] for column in COLUMNS}
