"""The rows that the pages of a damaged SQLite file still hold, read page by page, whatever leads to them.

SQLite gives up on a file at the first page that is not what it should be, and knows nothing of the pages behind it. The
rows of a ledger tell by their checksum whether they are whole, so that every page may be tried. Format: sqlite.org,
"Database File Format", sections 1.6 (B-tree pages), 2.1 (records) and 4.1 (the write-ahead log).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from truebench_hf.engine.ledger import PAGE

_FRAME = 24 + PAGE  # of the write-ahead log: a head and a page
_HEAD = 32  # of the whole log
_LEAF, _INTERIOR = 0x0A, 0x02  # pages of tables WITHOUT ROWID
_MOST = (PAGE - 12) * 64 // 255 - 23  # bytes of a row in its own page; of a longer one at least `_LEAST`
_LEAST = (PAGE - 12) * 32 // 255 - 23
_INTS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
Row = tuple[Any, ...]


def rows(file: BinaryIO | None, log: BinaryIO | None) -> Iterator[Row]:
    """Every row that stands in a database file or its write-ahead log; texts are bytes. Many are not as written."""
    for current in (
        (True, False) if log else (False,)
    ):  # long rows go on in other pages: as the log has them, then as the file has them
        pages = _Pages(file, log, current=current)
        for page, first in pages.every():
            yield from pages.rows(page, 100 if first else 0)


class _Pages:
    def __init__(self, file: BinaryIO | None, log: BinaryIO | None, *, current: bool) -> None:
        self._file, self._log = file, log
        self._most = _size(file) + _size(log)  # bytes of a row
        self._newest = dict(self._frames()) if current else {}  # place in the log by number of the page

    def every(self) -> Iterator[tuple[bytes, bool]]:
        """All pages of file and log, and whether one is the first of the file."""
        for number in range(1, _size(self._file) // PAGE + 2):
            yield _read(self._file, (number - 1) * PAGE), number == 1
        for number in range(max(0, _size(self._log) - _HEAD) // _FRAME + 1):
            yield _read(self._log, _HEAD + number * _FRAME + 24), False

    def rows(self, page: bytes, start: int) -> Iterator[Row]:
        """The rows of one page."""
        if len(page) < start + 12 or page[start] not in (_LEAF, _INTERIOR):
            return
        head, child = (8, 0) if page[start] == _LEAF else (12, 4)
        count = min(int.from_bytes(page[start + 3 : start + 5]), PAGE // 2)
        for place in range(start + head, start + head + 2 * count, 2):
            try:
                yield _record(self._cell(page, int.from_bytes(page[place : place + 2]) + child))
            except (ValueError, IndexError, struct.error):
                continue  # not what it should be

    def _cell(self, page: bytes, at: int) -> bytes:
        """The bytes of a row, of which what finds no room in its page is in a chain of others."""
        size, at = _varint(page, at)
        if size > self._most:
            raise ValueError("no row is as long")
        least = _LEAST + (size - _LEAST) % (PAGE - 4)
        here = size if size <= _MOST else least if least <= _MOST else _LEAST
        parts, missing = [page[at : at + here]], size - here
        following = int.from_bytes(page[at + here : at + here + 4])
        while missing > 0:
            more = self._page(following)
            if len(more) < 4:
                raise ValueError("the chain is torn")
            following = int.from_bytes(more[:4])
            parts.append(more[4 : 4 + missing])
            missing -= PAGE - 4
        return b"".join(parts)

    def _page(self, number: int) -> bytes:
        if number in self._newest:
            return _read(self._log, self._newest[number])
        return _read(self._file, (number - 1) * PAGE) if number > 0 else b""

    def _frames(self) -> Iterator[tuple[int, int]]:
        """Number of the page and its place, of all frames that belong to the log as it is now."""
        salts = _read(self._log, _HEAD)[8:16]  # of the first one: the log is written over from its beginning
        for at in range(_HEAD, _size(self._log), _FRAME):
            head = _read(self._log, at)[:24]
            if len(head) == 24 and head[8:16] == salts:
                yield int.from_bytes(head[:4]), at + 24


def _record(content: bytes) -> Row:
    """The values of a row: a head with the kind of each, then the values."""
    end, at = _varint(content, 0)
    kinds, values, place = [], [], end
    while at < end:
        kind, at = _varint(content, at)
        kinds.append(kind)
    for kind in kinds:
        length = _INTS.get(kind, 8 if kind == 7 else (kind - 12) // 2 if kind >= 12 else 0)
        part = content[place : place + length]
        if len(part) < length:
            raise ValueError("the row is torn")
        values.append(_value(kind, part))
        place += length
    return tuple(values)


def _value(kind: int, part: bytes) -> Any:
    if kind in _INTS:
        return int.from_bytes(part, signed=True)
    if kind == 7:
        return struct.unpack(">d", part)[0]
    return part if kind >= 12 else {8: 0, 9: 1}.get(kind)


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and where it ends."""
    value = 0
    for count in range(8):
        value = value << 7 | content[at + count] & 0x7F
        if content[at + count] < 0x80:
            return value, at + count + 1
    return value << 8 | content[at + 8], at + 9


def _size(file: BinaryIO | None) -> int:
    return file.seek(0, 2) if file else 0


def _read(file: BinaryIO | None, at: int) -> bytes:
    """A page from this place on; less at the end of the file, and nothing where the disk cannot read it."""
    try:
        if file is None:
            return b""
        file.seek(at)
        return file.read(PAGE)
    except OSError:
        return b""


def open_or_none(path: Path) -> AbstractContextManager[BinaryIO | None]:
    """A file opened for reading; None where there is none."""
    return path.open("rb") if path.is_file() else nullcontext()
