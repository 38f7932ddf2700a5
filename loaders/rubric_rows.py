"""Rows of RubricEval as they are published: whole, labelled, and in one of its splits (paper 003, section 3.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.rubric_eval.rows import COLUMNS, checked, one_of
from truebench_hf.errors import UserError, unknown
from truebench_hf.loaders.usable import Usable, joined, usable
from truebench_hf.rows import Record

SPLITS = ("easy", "hard", "test")  # test: what did not come out of an arbitration, such as contrast pairs


def read(source: Path, columns: Mapping[str, str], strict: bool = False) -> Usable[tuple[str, dict[str, Any]]]:
    """(split, row) pairs of a JSONL or Parquet file, or of a folder of such files named by split (`easy.jsonl`).

    `columns` maps names of `COLUMNS`, or `split`, to the file's own. Rows that cannot be used are left out.
    """
    for ours in columns:
        if ours not in (*COLUMNS, "split"):
            raise unknown("column", ours, (*COLUMNS, "split"))

    def parse(split: str | None, record: Record) -> list[tuple[str, dict[str, Any]]]:
        ours = {ours: record.row.get(theirs) for ours, theirs in columns.items()}
        record = replace(record, row={**record.row, **ours})
        made = row(record)
        return [(split or one_of(record, "split", SPLITS), made)]

    seen: dict[object, str] = {}  # an id stands once in all files
    one = partial(usable, key=lambda pair: pair[1]["id"], seen=seen, strict=strict)
    return joined(source, [one(file, partial(parse, split)) for split, file in _files(source)])


def row(record: Record) -> dict[str, Any]:
    """One row in the columns of `COLUMNS`, checked. Raises UserError naming where it stands and the field.

    Only ids of rows, places in checklists and dimensions may be left out. Sources name types of their own, so that
    arbitration leaves some rows without one; `truebench taxonomy` finds it.
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


def _files(source: Path) -> Iterator[tuple[str | None, Path]]:
    """The file, or the files of a folder with the splits they are named by."""
    if not source.is_dir():
        yield None, source
        return
    files = sorted(path for path in source.iterdir() if path.suffix in (".jsonl", ".parquet"))
    if not files:
        raise UserError(
            f"{source}: holds no .jsonl or .parquet files; give a file, or a folder with easy and hard ones"
        )
    for path in files:
        split = re.split(r"[-_.]", path.stem)[0].casefold()
        if split not in SPLITS:
            raise UserError(f"{path}: in a folder, the name of each file must begin with one of {', '.join(SPLITS)}")
        if path.stat().st_size:  # arbitration may leave a split empty
            yield split, path


def _pairs(record: Record, name: str, first: str, second: str) -> list[dict[str, str | None]]:
    """A list of {first, second}; the second may be null or blank: an annotator without label, a judge without reason."""
    if not record.row.get(name):
        return []
    return [{first: part.text(first), second: part.maybe(second)} for part in record.parts(name)]
