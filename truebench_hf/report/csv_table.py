"""Tables that people fill in with a spreadsheet program, written, and read back by the names of their columns."""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from truebench_hf.errors import UserError


def csv_text(rows: Iterable[Iterable[object]], end: str = "\n") -> str:
    """Rows as CSV text, of which a spreadsheet program runs nothing."""
    out = io.StringIO()
    csv.writer(out, lineterminator=end).writerows([guard(cell) for cell in row] for row in rows)
    return out.getvalue()


def read_table(
    text: str, where: str, needed: Sequence[str], columns: Sequence[str], what: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """(where, cells by column) of the rows that are not blank, whatever separates the columns.

    Raises UserError where a needed column is absent or one of `columns` stands twice (`what` says what the file is to
    be), and where it is no CSV.
    """
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # whole documents stand in one cell
    delimiter = _delimiter(text, where, needed, columns, what)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        header = [name.strip() for name in next(reader)]
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield f"{where}, line {reader.line_num}", dict(zip(header, map(unguard, cells), strict=False))
    except csv.Error as error:
        raise UserError(f"{where}, line {reader.line_num}: not CSV: {error}") from error


def _delimiter(text: str, where: str, needed: Sequence[str], columns: Sequence[str], what: str) -> str:
    """What separates the columns: spreadsheet programs write what their country uses."""
    first = text.split("\n", 1)[0]
    for delimiter in (",", ";", "\t"):
        names = [name.strip().strip('"') for name in first.split(delimiter)]
        if set(needed) <= set(names):
            if doubled := [name for name in columns if names.count(name) > 1]:
                raise UserError(f"{where}: column {doubled[0]!r} stands twice")
            return delimiter
    raise UserError(f"{where}: not {what}: its first line must name the columns {', '.join(needed)}")


T = TypeVar("T")
_BEGINS = tuple("=+-@\t\r'")  # a formula, or our own guard
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?%?")


def guard(cell: T) -> T | str:
    """A cell with an apostrophe before a text that would be taken for a formula, whoever wrote it; numbers stay."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_BEGINS) and not _NUMBER.fullmatch(cell) else cell


def unguard(cell: str) -> str:
    """The text before `guard`."""
    return cell[1:] if cell.startswith("'") and guard(cell[1:]) != cell[1:] else cell
