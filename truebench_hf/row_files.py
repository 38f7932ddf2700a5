"""The one reader of rows, wherever they stand: a file, a folder of files, a data set that was built, or the Hub."""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from truebench_hf import jsonl
from truebench_hf.errors import UserError
from truebench_hf.in_memory import InMemory
from truebench_hf.rows import Record

Splits = dict[str, Iterator[Record]]
_IN_FOLDERS = (".jsonl", ".parquet", ".csv")  # a .json beside these describes the data


def splits(data: str, built_in: Sequence[str] = (), flag: str = "--data") -> Splits:
    """The rows by split, each read when it is asked for, of a file (whose split is ""), a folder or a Hub id.

    A folder holds files named by split, or is what `truebench data build` wrote, of which the configuration `all` is
    read. A Hub id is `org/name` or `org/name@revision`. Raises UserError naming what is wrong and, where nothing is
    found, what can be given, the `built_in` names too; reading raises it on the first malformed row.
    """
    path = Path(data)
    if path.is_file():
        return {"": records(path)}
    if data and path.is_dir():
        return _folder(path, flag)
    if re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", data) and path.suffix not in (*_READERS, ".txt", ".gz"):
        return _hub(data, flag)
    kinds = "a path (JSONL, JSON, CSV or Parquet, or a folder of them)"
    raise UserError(f"{flag} {data}: no such file; give {', '.join((*built_in, kinds))} or a Hub id")


def one_split(data: str, built_in: Sequence[str] = (), flag: str = "--data") -> Iterator[Record]:
    """The rows of the split named test, or of the only one; rows in memory as they are. Raises UserError as `splits`."""
    if isinstance(data, InMemory):
        return (Record(f"row {number}", row, number - 1) for number, row in enumerate(data.value, 1))
    found = splits(data, built_in, flag)
    if "test" not in found and len(found) > 1:
        raise UserError(
            f"{flag} {data}: has no split test, and more than one other: {', '.join(found)}; save the one you mean to a "
            "file, and give that"
        )
    return found["test"] if "test" in found else next(iter(found.values()))


def records(path: Path) -> Iterator[Record]:
    """The rows of a .jsonl, .json, .csv, .tsv or .parquet file, in order. Raises UserError as `entries` and on its errors."""
    return _sound(entries(path))


def entries(path: Path) -> Iterator[Record | UserError]:
    """The rows of a file, as of `records`; in place of a malformed one its error.

    Raises UserError on a file that cannot be read, or holds nothing.
    """
    empty = True
    for entry in _rows(path):
        empty = False
        yield entry
    if empty:
        raise UserError(f"{path}: holds no records")


def _sound(found: Iterable[Record | UserError]) -> Iterator[Record]:
    for entry in found:
        if isinstance(entry, UserError):
            raise entry
        yield entry


def _folder(folder: Path, flag: str) -> Splits:
    built = folder / "data"
    if built.is_dir() and not (built / "all").is_dir() and (configs := sorted(p.name for p in built.iterdir())):
        raise UserError(
            f"{flag} {folder}: has the configurations {', '.join(configs)}; give one, e.g. {built / configs[0]}"
        )
    place = built / "all" if built.is_dir() else folder
    found: dict[str, list[Path]] = {}
    for path in sorted(place.iterdir()):
        if path.suffix in _IN_FOLDERS:
            found.setdefault(path.stem.split("-")[0], []).append(path)
    if not found:
        raise UserError(f"{flag} {folder}: holds no {', '.join(_IN_FOLDERS)} files; give a file, or such a folder")
    return {
        split: _sound(chain.from_iterable(map(_rows, paths))) for split, paths in found.items()
    }  # some may be empty


def _hub(data: str, flag: str) -> Splits:
    from datasets import ClassLabel, load_dataset

    name, _, revision = data.partition("@")
    try:
        tables = load_dataset(name, revision=revision or None)
    except Exception as error:  # the client has many errors of its own; all mean: cannot be loaded
        why = " ".join(str(error).split())[:300]
        raise UserError(f"{flag} {data}: cannot be loaded from the Hub: {why}") from error

    def rows(table: Any) -> Iterator[Record]:
        classes = {column: kind.names for column, kind in table.features.items() if isinstance(kind, ClassLabel)}
        for number, row in enumerate(table):
            named = {column: names[row[column]] for column, names in classes.items() if row[column] is not None}
            yield Record(f"{data}, row {number}", row | named, number)

    return {split: rows(table) for split, table in tables.items()}


def _rows(path: Path) -> Iterator[Record | UserError]:
    if path.suffix.lower() not in _READERS:
        raise UserError(f"{path}: give a file of type {', '.join(_READERS)}")
    try:
        for number, (where, row) in enumerate(_READERS[path.suffix.lower()](path)):
            if isinstance(row, UserError):
                yield row
            else:
                yield Record(where, row, number) if isinstance(row, dict) else UserError(f"{where}: must be an object")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: cannot be read: {error}; save it as UTF-8") from error
    except (OSError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {error}") from error


def _json(path: Path) -> Iterator[tuple[str, Any]]:
    text = path.read_text(encoding="utf-8-sig")
    if not text.lstrip().startswith("["):  # lines of JSON go by this name too
        for number, (where, row) in enumerate(_jsonl(path)):
            if isinstance(row, UserError) and not number:
                raise UserError(f"{path}: must be a list of records, or one record a line")
            yield where, row
        return
    for number, row in enumerate(jsonl.parsed(text, str(path)), 1):
        yield f"{path}, record {number}", row


def _jsonl(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as file:
        for where, line in jsonl.lines(file, str(path)):
            try:
                yield where, jsonl.parsed(line, where)
            except UserError as error:
                yield where, error


def _csv(path: Path, delimiter: str = ",") -> Iterator[tuple[str, Any]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # whole conversations stand in one field
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.DictReader(file, delimiter=delimiter), 1):
            where = f"{path}, record {number}"
            whole = None not in row and None not in row.values()
            yield where, row if whole else UserError(f"{where}: has another number of fields than the header")


def _parquet(path: Path) -> Iterator[tuple[str, Any]]:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]
    from pyarrow import ArrowException

    try:
        table = pq.read_table(path)
    except ArrowException as error:
        raise UserError(f"{path}: not a Parquet file: {error}") from error
    for number, row in enumerate(table.to_pylist(), 1):
        yield f"{path}, record {number}", row


_READERS: dict[str, Callable[[Path], Iterator[tuple[str, Any]]]] = {
    ".jsonl": _jsonl, ".json": _json, ".csv": _csv, ".tsv": partial(_csv, delimiter="\t"), ".parquet": _parquet,
}  # fmt: skip
