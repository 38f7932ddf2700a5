"""The files that annotators hand back: a filled-in CSV sheet, or the CSV or JSON that the HTML form downloads."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.report.csv_table import read_table, text_of

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
    text = text_of(path)
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
    for place, cells in read_table(text, where, _NEEDED, FIELDS, "an annotation sheet"):
        yield place, {**cells, "options": tuple(cells.get("options", "").split("|"))}


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
