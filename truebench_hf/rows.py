"""One record of a corpus whose fields are checked as they are read, and the files such records stand in."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from truebench_hf import jsonl
from truebench_hf.errors import UserError
from truebench_hf.types import Message, Role

_ROLES = get_args(Role)


@dataclass(frozen=True, slots=True)
class Record:
    """A row and where it stands (file and line or number). Every method raises UserError naming both and the field.

    `number` is its place among all rows of the file, from 0.
    """

    where: str
    row: Mapping[str, Any]
    number: int = 0

    def text(self, name: str) -> str:
        """A field that must be a text with something in it."""
        value = self.row.get(name)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(name, "must be a text that is not blank")
        return value

    def maybe(self, name: str) -> str | None:
        """A text field that may be absent, null or blank: then None."""
        value = self.row.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.wrong(name, "must be a text or null")
        return value if value.strip() else None

    def id(self, name: str) -> str:
        """A number or a text, as a text."""
        value = self.row.get(name)
        if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
            raise self.wrong(name, "must be a number or a text")
        return str(value)

    def items(self, name: str) -> list[Any]:
        """A list with something in it; a list written as JSON text (as in CSV) is read."""
        value = self.decoded(name)
        if not isinstance(value, list) or not value:
            raise self.wrong(name, "must be a list that is not empty")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of texts, none of them blank."""
        values = self.items(name)
        if not all(isinstance(value, str) and value.strip() for value in values):
            raise self.wrong(name, "must be a list of texts, none of them blank")
        return values

    def words(self, name: str) -> tuple[str, ...]:
        """A text or a list of texts, possibly empty or absent, as a tuple."""
        value = self.row.get(name)
        values = [value] if isinstance(value, str) and value.strip() else value or []
        if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
            raise self.wrong(name, "must be a text or a list of texts")
        return tuple(values)

    def parts(self, name: str) -> list[Record]:
        """A list of objects, each as a record of its own."""
        return [self.part(name, number, value) for number, value in enumerate(self.items(name))]

    def part(self, name: str, key: object, value: Any) -> Record:
        """One object inside a field (at `key`, or all of it for None), as a record of its own."""
        shown = name if key is None else f"{name}[{key}]"
        if not isinstance(value, dict):
            raise self.wrong(shown, "must be an object")
        return Record(f"{self.where}, {shown}", value)

    def messages(self, name: str) -> tuple[Message, ...]:
        """A conversation: a list of {role, content} with the roles system, user and assistant."""
        return tuple(part.message() for part in self.parts(name))

    def message(self) -> Message:
        """This record as a message."""
        role = self.text("role")
        if role not in _ROLES:
            raise self.wrong("role", f"is {role!r}, which is none of {', '.join(_ROLES)}")
        content = self.row.get("content")
        if not isinstance(content, str):
            raise self.wrong("content", "must be a text")
        return Message(role, content)  # type: ignore[arg-type]  # checked against the roles above

    def decoded(self, name: str) -> Any:
        """A field as it is, or read from JSON where it is a text."""
        value = self.row.get(name)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise self.wrong(name, f"must be JSON ({error})") from error

    def wrong(self, name: str, what: str) -> UserError:
        """The error for a field of this record."""
        missing = "" if name in self.row or "[" in name else " (it is absent)"
        return UserError(f"{self.where}: field {name!r} {what}{missing}")


def records(path: Path) -> Iterator[Record]:
    """The records of a file, as of `entries`. Raises UserError on the first row that is none."""
    for entry in entries(path):
        if isinstance(entry, UserError):
            raise entry
        yield entry


def entries(path: Path) -> Iterator[Record | UserError]:
    """The records of a .json (one list), .jsonl, .csv or .parquet file, in order; in place of a malformed one its error.

    Raises UserError on a file that cannot be read, or holds nothing.
    """
    readers = {".json": _json, ".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
    if path.suffix.lower() not in readers:
        raise UserError(f"{path}: give a file of type {', '.join(readers)}")
    number = -1
    try:
        for number, (where, row) in enumerate(readers[path.suffix.lower()](path)):
            if isinstance(row, UserError):
                yield row
            else:
                yield Record(where, row, number) if isinstance(row, dict) else UserError(f"{where}: must be an object")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error
    if number < 0:
        raise UserError(f"{path}: holds no records")


def _json(path: Path) -> Iterator[tuple[str, Any]]:
    rows = jsonl.parsed(path.read_text(encoding="utf-8-sig"), str(path))
    if not isinstance(rows, list):
        raise UserError(f"{path}: must be a list of records")
    for number, row in enumerate(rows, 1):
        yield f"{path}, record {number}", row


def _jsonl(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as file:
        for where, line in jsonl.lines(file, str(path)):
            try:
                yield where, jsonl.parsed(line, where)
            except UserError as error:
                yield where, error


def _csv(path: Path) -> Iterator[tuple[str, Any]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # whole conversations stand in one field
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), 1):
            where = f"{path}, record {number}"
            whole = None not in row and None not in row.values()
            yield where, row if whole else UserError(f"{where}: has another number of fields than the header")


def _parquet(path: Path) -> Iterator[tuple[str, Any]]:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]
    from pyarrow import ArrowInvalid

    try:
        table = pq.read_table(path)
    except ArrowInvalid as error:
        raise UserError(f"{path}: not a Parquet file: {error}") from error
    for number, row in enumerate(table.to_pylist(), 1):
        yield f"{path}, record {number}", row
