"""One file of rows, in whatever form it is kept; a malformed row is an error of its own, in place of the row."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from truebench_hf import jsonl
from truebench_hf.errors import UserError
from truebench_hf.rows import Record

Entry = Record | UserError
_PACKED: dict[str, Callable[[Path], Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
_BATCH = 100  # rows of Parquet at a time: whole documents may stand in each


def entries(path: Path, name: str = "") -> Iterator[Entry]:
    """The rows of a file in order; in place of a malformed one its error.

    `name` is what the file is called in messages, and tells its form, where the path does not (a download, say).
    Raises UserError on a file that cannot be read, or holds nothing.
    """
    empty = True
    for entry in _rows(path, name or str(path)):
        empty = False
        yield entry
    if empty:
        raise UserError(f"{name or path}: holds no records")


def sound(found: Iterable[Entry]) -> Iterator[Record]:
    """The rows. Raises UserError on the first malformed one."""
    for entry in found:
        if isinstance(entry, UserError):
            raise entry
        yield entry


def form(name: str) -> str:
    """The ending that tells the form of a file, "" where it is none that is read: `.jsonl` for `a.jsonl.gz`."""
    path = Path(urlsplit(name).path if "://" in name else name)
    ending = Path(path.stem).suffix if path.suffix.lower() in _PACKED else path.suffix
    return ending.lower() if ending.lower() in FORMS else ""


def _rows(path: Path, name: str) -> Iterator[Entry]:
    kind = form(name)
    if not kind:
        raise UserError(f"{name}: give a file of type {', '.join(FORMS)}, as it is or packed ({', '.join(_PACKED)})")
    try:
        for number, (where, row) in enumerate(FORMS[kind](path, name)):
            if isinstance(row, UserError):
                yield row
            else:
                yield Record(where, row, number) if isinstance(row, dict) else UserError(f"{where}: must be an object")
    except UnicodeDecodeError as error:
        raise UserError(f"{name}: cannot be read: {error}; save it as UTF-8") from error
    except (OSError, EOFError, csv.Error, zlib.error, lzma.LZMAError) as error:
        raise UserError(f"{name}: cannot be read: {error}") from error


def _opened(path: Path, name: str) -> IO[bytes]:
    packed = _PACKED.get(Path(urlsplit(name).path if "://" in name else name).suffix.lower())
    return packed(path) if packed else path.open("rb")


def _json(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    with _opened(path, name) as file:
        start = file.read(1 << 16).decode("utf-8-sig", "replace").lstrip()
    if not start.startswith("["):  # lines of JSON go by this name too
        for number, (where, row) in enumerate(_jsonl(path, name)):
            if isinstance(row, UserError) and not number:
                raise UserError(f"{name}: must be a list of records, or one record a line")
            yield where, row
        return
    with _opened(path, name) as file:
        rows = jsonl.parsed(file.read().decode("utf-8-sig", "surrogatepass"), name)
    for number, row in enumerate(rows, 1):
        yield f"{name}, record {number}", row


def _jsonl(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    with _opened(path, name) as file:
        for where, line in jsonl.lines(file, name):
            try:
                yield where, jsonl.parsed(line, where)
            except UserError as error:
                yield where, error


def _csv(path: Path, name: str, delimiter: str = ",") -> Iterator[tuple[str, Any]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # whole conversations stand in one field
    with _opened(path, name) as file, io.TextIOWrapper(file, encoding="utf-8-sig", newline="") as text:
        for number, row in enumerate(csv.DictReader(text, delimiter=_delimiter(text, delimiter)), 1):
            where = f"{name}, record {number}"
            if None in row or None in row.values():
                yield where, UserError(f"{where}: has another number of fields than the header")
            elif len(row) == 1 or any(map(str.strip, row.values())):  # spreadsheets leave rows of empty cells
                yield where, row


def _delimiter(text: IO[str], usual: str) -> str:
    """What stands between the cells: a spreadsheet writes semicolons where a comma is the decimal point.

    The text is then at the header: a line `sep=;` before it, which such a program writes too, is taken off.
    """
    head = text.readline().rstrip("\r\n")
    if head.startswith("sep=") and len(head) == 5:
        return head[4]
    text.seek(0)
    return next((one for one in (usual, ";", "\t") if one in head), usual)


def _parquet(path: Path, name: str) -> Iterator[tuple[str, Any]]:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]
    from pyarrow import ArrowException

    try:
        # A buffer, since a row group without one is held whole.
        with _opened(path, name) as file, pq.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20) as table:
            batches = (batch.to_pylist() for batch in table.iter_batches(_BATCH))
            for number, row in enumerate((row for batch in batches for row in batch), 1):
                yield f"{name}, record {number}", row
    except ArrowException as error:
        raise UserError(f"{name}: not a Parquet file: {error}") from error


FORMS: dict[str, Callable[[Path, str], Iterator[tuple[str, Any]]]] = {
    ".jsonl": _jsonl, ".json": _json, ".csv": _csv, ".tsv": partial(_csv, delimiter="\t"), ".parquet": _parquet,
}  # fmt: skip
