"""The lines of a file of judged instances one after the other, and any of them again: texts need not be held meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from truebench_hf.data import jsonl
from truebench_hf.data.records.judged import Judged
from truebench_hf.data.records.reader import Reader
from truebench_hf.errors import UserError

Form = Callable[[Reader, Any, str], tuple[Judged, str]]  # (judged instance, judge) of a row, and where it stands
Stamp = tuple[int, int, int]


class Place(NamedTuple):
    """At which byte a line begins, and the one that holds its context, where that is another."""

    line: int
    context: int | None


class Line(NamedTuple):
    """A judged instance, its judge, and where it stands."""

    item: Judged
    judge: str
    place: Place


def read_lines(
    file: Path, remedy: str, *, form: Form = Reader.judged, context: Callable[[str], str] = str
) -> Iterator[Line]:
    """The lines of a file; of each context there is what `context` makes of it. Raises UserError as `jsonl.read`."""
    reader, holders = Reader(context), dict[str, int]()
    for where, byte, row in jsonl.placed(file, remedy):
        item, judge = form(reader, row, where)
        named = row.get("context_of")
        yield Line(item, judge, Place(byte, holders.get(named) if isinstance(named, str) else None))
        if "context" in row:
            holders[item.instance.id] = byte


def read_again(file: Path, place: Place, form: Form = Reader.judged) -> Judged:
    """One of these lines, with all of its texts. Raises UserError where it is there no more."""
    reader, where = Reader(), f"{file}, byte {place.line}"
    if place.context is not None:
        reader.judged(jsonl.at(file, place.context), where)
    return form(reader, jsonl.at(file, place.line), where)[0]


def stamp(file: Path) -> Stamp:
    """What is another once a file was written anew; of one that cannot be read, whose reader says so, nothing."""
    try:
        found = file.stat()
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns


def unchanged(file: Path, before: Stamp) -> None:
    """Raise UserError where a file that is read twice is another than it was."""
    if stamp(file) != before:
        raise UserError(f"{file}: was changed while it was read; repeat the command")
