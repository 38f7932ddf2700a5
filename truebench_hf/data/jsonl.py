"""JSON Lines, read in one way everywhere: a line ends at `\\n` and nowhere else.

A text inside may hold any character; U+2028, U+0085 or a vertical tab, at which `str.splitlines` breaks, ends no line.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError


def read(path: str | Path, remedy: str = "") -> Iterator[tuple[str, Any]]:
    """(where, value) of every line of a file that is not blank; `where` is the file and the number of the line.

    UTF-8, with or without a byte order mark, lines ending in `\\n` or `\\r\\n`. Raises UserError naming the line that is
    no JSON, or the file that cannot be read, with the `remedy`.
    """
    try:
        with Path(path).open("rb") as file:
            for where, line in lines(file, str(path)):
                yield where, parsed(line, where)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error}{remedy and '; '}{remedy}") from error


def lines(content: Iterable[bytes], name: str) -> Iterator[tuple[str, bytes]]:
    """(where, line) of the lines that are not blank. `content` is a file opened for bytes, which ends lines at `\\n`."""
    for number, line in enumerate(content, 1):
        bare = line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
        if bare.strip(b" \t\r\n"):
            yield f"{name}, line {number}", bare


def parsed(text: str | bytes, where: str, *, unique: bool = False) -> Any:
    """The value of a JSON text that anybody may have written. Raises UserError with `where` if it is none.

    With `unique` an object in which a key stands twice is refused, too: of two values the first would be lost.
    """

    def checked(entries: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(entries)
        if len(row) < len(entries):
            keys = [key for key, _ in entries]
            doubled = next(key for key in keys if keys.count(key) > 1)
            raise UserError(f"{where}: the key {doubled!r} stands twice in one object; leave one, or rename one")
        return row

    try:
        # A lone surrogate that somebody wrote as it stands is let through: what reads the value decides on it.
        decoded = text if isinstance(text, str) else text.decode("utf-8", "surrogatepass")
        return json.loads(decoded, object_pairs_hook=checked if unique else None)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: not JSON: {error}") from error


def held(value: Any) -> Any:
    """The object or the list that a text holds as JSON, as a cell of a table does; any other value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    inner = maybe(value)
    return value if inner is None else inner


def maybe(text: str | bytes) -> Any:
    """The value of a text that may be JSON; None where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
