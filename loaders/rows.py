"""Rows against strict features, where what does not fit is an error with file, line and field; and rows on disk.

`datasets` replaces `Path` and `open` in modules that hold builders, so that what looks at sources stands here.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from truebench_hf.data.rows import HALF, Record
from truebench_hf.errors import UserError

BATCH = 100  # rows at a time: whole documents may stand in each
_KINDS = {
    "string": (str, "a text"), "bool": (bool, "true or false"), "int64": (int, "a whole number"),
    "int32": (int, "a whole number"),
}  # fmt: skip


def fitted(record: Record, features: datasets.Features, *, nullable: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The row of a record that holds exactly the columns of `features`, each value of its type.

    Fields named in `nullable` may be null, and entries of a list named in it as `field[]`. Raises UserError naming where
    the row stands and the field that is wrong.
    """
    _check(record.row, features, record.where, "", nullable)
    return {name: record.row[name] for name in features}


@dataclass(frozen=True)
class Stored:
    """The rows of a Parquet file that a builder wrote, class labels by their names."""

    path: Path

    def __len__(self) -> int:
        return int(pq.read_metadata(self.path).num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        yield from self._rows(None)

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(pq.read_schema(self.path).names)

    def column(self, name: str) -> Iterator[Any]:
        """The values of one column."""
        return (row[name] for row in self._rows([name]))

    def part(self, column: str, values: set[str], path: Path) -> Stored:
        """The rows that have one of these values in a column, written to a file of their own."""
        path.parent.mkdir(parents=True, exist_ok=True)
        wanted, held = pa.array(sorted(values)), []
        with pq.ParquetFile(self.path) as whole, pq.ParquetWriter(path, whole.schema_arrow) as out:
            for batch in whole.iter_batches(BATCH):
                held.append(pa.Table.from_batches([batch]).filter(pc.is_in(batch[column], wanted)))
                if sum(map(len, held)) >= BATCH:
                    out.write_table(pa.concat_tables(held))
                    held = []
            if any(map(len, held)):
                out.write_table(pa.concat_tables(held))
        return Stored(path)

    def _rows(self, columns: list[str] | None) -> Iterator[dict[str, Any]]:
        with pq.ParquetFile(self.path) as file:
            features = datasets.Features.from_arrow_schema(file.schema_arrow)
            labels = {name: kind.names for name, kind in features.items() if isinstance(kind, datasets.ClassLabel)}
            for batch in file.iter_batches(BATCH, columns=columns):
                for row in batch.to_pylist():
                    yield row | {c: n[row[c]] for c, n in labels.items() if row.get(c) is not None}


def contents(source: str | None) -> str:
    """What changes with the contents of a source; of one that is far away they are not known before it is fetched."""
    if source is None:
        return ""
    path = Path(source)
    if not path.exists():
        return str(time.time_ns())
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    return "\n".join(f"{file} {sha256(file)}" for file in files)


def place(given: str | os.PathLike[str]) -> str:
    """A source as a text, the home folder written out."""
    text = os.fspath(given)
    return str(Path(text).expanduser()) if text.startswith("~") else text


def places(given: Any) -> Any:
    """What `data_files` names, one, several or by split, as texts, which is all that `datasets` takes."""
    if isinstance(given, Mapping):
        return {name: places(inner) for name, inner in given.items()}
    return [place(one) for one in given] if isinstance(given, list | tuple) else place(given)


def sha256(path: Path) -> str:
    """SHA-256 of a file, read a little at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def whole(value: Any) -> Any:
    """The value with U+FFFD in place of half a character (a lone surrogate), which no table holds."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if HALF.search(value) else value
    if isinstance(value, Mapping):
        return {name: whole(inner) for name, inner in value.items()}
    return [whole(inner) for inner in value] if isinstance(value, list | tuple) else value


def _check(value: Any, feature: Any, where: str, name: str, nullable: frozenset[str]) -> None:
    if value is None and re.sub(r"\[\d+\]$", "[]", name.rpartition(".")[2]) in nullable:
        return
    if isinstance(feature, dict):
        _check_fields(value, feature, where, name, nullable)
    elif isinstance(feature, datasets.List):
        if not isinstance(value, list):
            raise _wrong(where, name, "must be a list")
        for number, item in enumerate(value):
            _check(item, feature.feature, where, f"{name}[{number}]", nullable)
    elif isinstance(feature, datasets.ClassLabel):
        if value not in feature.names:
            raise _wrong(where, name, f"is {value!r}, which is none of {', '.join(feature.names)}")
    else:
        kind, shown = _KINDS[feature.dtype]
        if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
            raise _wrong(where, name, f"must be {shown}")


def _check_fields(value: Any, features: dict[str, Any], where: str, name: str, nullable: frozenset[str]) -> None:
    if not isinstance(value, dict):
        raise _wrong(where, name, "must be an object")
    prefix, kind = (f"{name}.", "object") if name else ("", "file")
    for field in features:
        if field not in value:
            raise UserError(f"{where}: missing field {prefix + field!r}; {Record(where, value, kind=kind).there}")
    for field in value:
        if field not in features:
            raise _wrong(where, prefix + field, f"is no column of this set, which are {', '.join(features)}")
    for field, feature in features.items():
        _check(value[field], feature, where, prefix + field, nullable)


def _wrong(where: str, name: str, what: str) -> UserError:
    return UserError(f"{where}: field {name!r} {what}")
