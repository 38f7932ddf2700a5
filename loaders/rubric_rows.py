"""Rows of RubricEval (paper 003, section 3.1), one labelled rubric judgment each, from files with these or other names.

What a file leaves out is derived where that is certain (`id`, `rubric_index`, `dimension`); the rest must be there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.rubric_eval.rubric_types import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES
from truebench_hf.errors import UserError, unknown
from truebench_hf.loaders.sources.kept import Kept, joined, kept
from truebench_hf.rows import Record

COLUMNS = (
    "id", "instruction_id", "response_id", "response_model", "instruction_category", "source_benchmark", "language",
    "messages", "context", "reference", "response", "checklist", "rubric_index", "rubric", "rubric_type", "dimension",
    "label", "label_source", "annotations", "rationales",
)  # fmt: skip
SPLITS = ("easy", "hard", "test")  # test: what did not come out of an arbitration, such as contrast pairs
LABELS = ("no", "yes")


def read(source: Path, columns: Mapping[str, str], strict: bool = False) -> Kept[tuple[str, dict[str, Any]]]:
    """(split, row) pairs of a JSONL or Parquet file, or of a folder of such files named by split (`easy.jsonl`).

    `columns` maps names of `COLUMNS`, or `split`, to the file's own. Rows that cannot be used are left out; see `kept`.
    """
    for ours in columns:
        if ours not in (*COLUMNS, "split"):
            raise unknown("column", ours, (*COLUMNS, "split"))

    def parse(split: str | None, record: Record) -> list[tuple[str, dict[str, Any]]]:
        ours = {ours: record.row.get(theirs) for ours, theirs in columns.items()}
        record = replace(record, row={**record.row, **ours})
        made = row(record)
        return [(split or _one_of(record, "split", SPLITS), made)]

    seen: dict[object, str] = {}  # an id stands once in all files
    one = partial(kept, key=lambda pair: pair[1]["id"], seen=seen, strict=strict)
    return joined(source, [one(file, partial(parse, split)) for split, file in _files(source)])


def row(record: Record) -> dict[str, Any]:
    """One row in the columns of `COLUMNS`, checked. Raises UserError naming where it stands and the field."""
    messages = record.messages("messages")
    if messages[-1].role != "user":
        raise record.wrong("messages", "must end with the user's message that was answered")
    checklist = record.texts("checklist")
    index = _index(record, checklist)
    response = record.row.get("response")
    if not isinstance(response, str):
        raise record.wrong("response", "must be a text")
    # Sources name types of their own, so that arbitration leaves some rows without; taxonomy gives them one.
    untyped = record.row.get("rubric_type") is None and "rubric_type" in record.row
    kind = None if untyped else _one_of(record, "rubric_type", tuple(RUBRIC_TYPES))
    response_id = record.id("response_id")
    return {
        "id": record.id("id") if record.row.get("id") is not None else f"{response_id}-c{index}",
        "instruction_id": record.id("instruction_id"),
        "response_id": response_id,
        "response_model": record.text("response_model"),
        "instruction_category": _one_of(record, "instruction_category", tuple(INSTRUCTION_CATEGORIES)),
        "source_benchmark": record.text("source_benchmark"),
        "language": record.text("language"),
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        "context": record.maybe("context"),
        "reference": record.maybe("reference"),
        "response": response,
        "checklist": checklist,
        "rubric_index": index,
        "rubric": checklist[index],
        "rubric_type": kind,
        "dimension": _dimension(record, kind),
        "label": _label(record),
        "label_source": record.maybe("label_source") or "unstated",
        "annotations": _pairs(record, "annotations", "annotator", "label"),
        "rationales": _pairs(record, "rationales", "judge", "rationale"),
    }


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


def _index(record: Record, checklist: list[str]) -> int:
    rubric, index = record.maybe("rubric"), record.row.get("rubric_index")
    if index is None and rubric is not None and checklist.count(rubric) == 1:
        return checklist.index(rubric)
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(checklist):
        raise record.wrong("rubric_index", f"must be a place in 'checklist', 0 to {len(checklist) - 1}")
    if rubric is not None and rubric != checklist[index]:
        raise record.wrong("rubric", f"is not entry {index} of 'checklist'")
    return index


def _dimension(record: Record, kind: str | None) -> str | None:
    if kind is None:
        return None
    dimension = RUBRIC_TYPES[kind].dimension
    if record.row.get("dimension") is not None and _one_of(record, "dimension", DIMENSIONS) != dimension:
        raise record.wrong("dimension", f"must be {dimension}, the dimension of {kind}")
    return dimension


def _one_of(record: Record, name: str, names: tuple[str, ...]) -> str:
    """One of `names`, in any case and with blanks or hyphens for underscores; a number counts from 0, as Parquet does."""
    value = record.row.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return names[value]
    folded = re.sub(r"[\s-]+", "_", value.strip().casefold()) if isinstance(value, str) else None
    if folded not in names:
        raise record.wrong(name, f"is {value!r}, which is none of {', '.join(names)}")
    return str(folded)


def _label(record: Record) -> str:
    label = record.label("label")
    if label is None:
        raise record.wrong("label", "must be yes or no in this set")
    return label


def _pairs(record: Record, name: str, first: str, second: str) -> list[dict[str, str | None]]:
    """A list of {first, second}; the second may be null or blank: an annotator without label, a judge without reason."""
    if not record.row.get(name):
        return []
    return [{first: part.text(first), second: part.maybe(second)} for part in record.parts(name)]
