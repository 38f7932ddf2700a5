"""The files that annotators hand back: a filled-in CSV sheet, or the CSV or JSON that the HTML form downloads."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.report.csv_cells import unguard

FIELDS = ("id", "annotator", "question", "options", "answer", "note")
_NEEDED = ("id", "annotator", "options", "answer")


@dataclass(frozen=True, slots=True)
class Answer:
    """What one annotator said to one item; `answer` None is not answered. `where` is the file and line.

    Without options the answer is a text of the annotator's own.
    """

    item: str
    annotator: str
    options: tuple[str, ...]
    answer: str | None
    note: str
    where: str


def read_answers(path: Path, written: bool = False) -> Iterator[Answer]:
    """The answers in a .csv or .json file; with `written` an item may have no options to choose from.

    Raises UserError naming file, line and field of what is wrong.
    """
    readers = {".csv": _csv_rows, ".json": _json_rows}
    if path.suffix.lower() not in readers:
        raise UserError(f"{path}: give the .csv or .json file of an annotator")
    try:
        text = path.read_bytes().decode("utf-8-sig")  # line breaks inside a field stay as they are
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8; save it as CSV UTF-8") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    for where, row in readers[path.suffix.lower()](text, str(path)):
        yield _answer(row, where, written)


def _answer(row: Mapping[str, Any], where: str, written: bool) -> Answer:
    for name in ("id", "annotator"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise UserError(f"{where}: field {name!r} is blank")
    options, given, note = row.get("options"), row.get("answer"), row.get("note") or ""
    own = written and options in ([], (), ("",))
    if not own and (
        not isinstance(options, tuple | list) or len(options) < 2 or not all(isinstance(o, str) for o in options)
    ):
        raise UserError(f"{where}: field 'options' must name two or more answers")
    if not isinstance(given, str | None) or not isinstance(note, str):
        raise UserError(f"{where}: fields 'answer' and 'note' must be texts")
    options, said = () if own else tuple(options or ()), (given or "").strip()
    chosen = (said if own else _chosen(said, options, where)) if said else None
    return Answer(row["id"].strip(), row["annotator"].strip(), options, chosen, note.strip(), where)


def _chosen(given: str, options: tuple[str, ...] | list[str], where: str) -> str:
    """The option that was meant; spreadsheet programs like to change capitals (yes, Yes, YES)."""
    alike = [option for option in options if option.casefold() == given.casefold()]
    if given not in options and len(alike) != 1:
        raise UserError(f"{where}: answer {given[:40]!r} is none of {', '.join(options)}")
    return given if given in options else alike[0]


def _csv_rows(text: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # whole documents stand in one field
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text, where))
    try:
        header = [name.strip() for name in next(reader)]
        for cells in reader:
            if any(cell.strip() for cell in cells):
                row: dict[str, Any] = dict(zip(header, map(unguard, cells), strict=False))
                row["options"] = tuple(row.get("options", "").split("|"))
                yield f"{where}, line {reader.line_num}", row
    except csv.Error as error:
        raise UserError(f"{where}, line {reader.line_num}: not CSV: {error}") from error


def _delimiter(text: str, where: str) -> str:
    """What separates the columns: spreadsheet programs write what their country uses."""
    first = text.split("\n", 1)[0]
    for delimiter in (",", ";", "\t"):
        names = [name.strip().strip('"') for name in first.split(delimiter)]
        if set(_NEEDED) <= set(names):
            if doubled := [name for name in FIELDS if names.count(name) > 1]:
                raise UserError(f"{where}: column {doubled[0]!r} stands twice")
            return delimiter
    raise UserError(f"{where}: not an annotation sheet: its first line must name the columns {', '.join(_NEEDED)}")


def _json_rows(text: str, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON: {error}") from error
    if not isinstance(value, dict) or not isinstance(value.get("answers"), list):
        raise UserError(f"{where}: not the answers of an annotation form: field 'answers' must be a list")
    for number, row in enumerate(value["answers"], 1):
        if not isinstance(row, dict):
            raise UserError(f"{where}, answer {number}: must be an object")
        yield f"{where}, answer {number}", {**row, "annotator": value.get("annotator")}
