"""Rows of RubricEval as they are published: whole, labelled, and in one of its splits (paper 003, section 3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from truebench_hf.data.rows import Record
from truebench_hf.data.rubric_rows import COLUMNS, checked, one_of
from truebench_hf.errors import UserError, unknown

SPLITS = ("easy", "hard", "test")  # test: what did not come out of an arbitration, such as contrast pairs


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
        return one_of(record, "split", SPLITS)
    except UserError:
        return None


def row(record: Record) -> dict[str, Any]:
    """One row in the columns of `COLUMNS`, checked. Raises UserError naming where it stands and the field.

    Only ids of rows, places in checklists and dimensions may be left out. Sources name types of their own, so that
    arbitration leaves some rows without one; `truebench study taxonomy` finds it.
    """
    made = checked(record)
    for name in ("instruction_id", "response_id"):
        record.id(name)
    for name in ("response_model", "source_benchmark", "language"):
        record.text(name)
    if not made["checklist"]:
        record.texts("checklist")
    if "rubric_type" not in record.row:
        raise record.wrong("rubric_type", "is needed, null where it is not known")
    if made["label"] is None:
        raise record.wrong("label", "must be yes or no in this set")
    made["id"] = made["id"] or f"{made['response_id']}-c{made['rubric_index']}"
    made["label_source"] = record.maybe("label_source") or "unstated"
    made["annotations"] = _pairs(record, "annotations", "annotator", "label")
    made["rationales"] = _pairs(record, "rationales", "judge", "rationale")
    return {column: made[column] for column in COLUMNS}


def _pairs(record: Record, name: str, first: str, second: str) -> list[dict[str, str | None]]:
    """A list of {first, second}; the second may be null or blank: an annotator without label, a judge without reason."""
    if not record.row.get(name):
        return []
    return [{first: part.text(first), second: part.maybe(second)} for part in record.parts(name)]
