"""Rows on disk.

`datasets` replaces `Path` and `open` in modules that hold builders, so that what looks at sources stands here.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel

from truebench_hf.data.row_formats import parquet_classes, with_class_names
from truebench_hf.text.terminal import HALF

TEXT = datasets.Value("string")
BATCH = 100  # rows at a time: whole documents may stand in each


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
        with pq.ParquetFile(self.path) as file, pq.ParquetWriter(path, file.schema_arrow) as out:
            for batch in file.iter_batches(BATCH):
                held.append(pa.Table.from_batches([batch]).filter(pc.is_in(batch[column], wanted)))
                if sum(map(len, held)) >= BATCH:
                    out.write_table(pa.concat_tables(held))
                    held = []
            if any(map(len, held)):
                out.write_table(pa.concat_tables(held))
        return Stored(path)

    def _rows(self, columns: list[str] | None) -> Iterator[dict[str, Any]]:
        with pq.ParquetFile(self.path) as file:
            features = parquet_classes(file.schema_arrow.metadata)
            for batch in file.iter_batches(BATCH, columns=columns):
                for row in batch.to_pylist():
                    yield row | {
                        name: with_class_names(row[name], kind) for name, kind in features.items() if name in row
                    }


def texts(*names: str, **others: Any) -> datasets.Features:
    """Columns of these names, all of texts but those of `others`."""
    return datasets.Features(dict.fromkeys(names, TEXT) | others)


def of_form(form: type[BaseModel]) -> datasets.Features:
    """The columns of a form of rows: its fields, in their order."""
    schema = form.model_json_schema()

    def feature(part: dict[str, Any]) -> Any:
        part = next((kind for kind in part.get("anyOf", ()) if kind.get("type") != "null"), part)
        if "$ref" in part:
            part = schema["$defs"][part["$ref"].rpartition("/")[2]]
        if part["type"] == "object":
            return {name: feature(inner) for name, inner in part["properties"].items()}
        if part["type"] == "array":
            return datasets.List(feature(part["items"]))
        return datasets.Value({"integer": "int64", "boolean": "bool"}.get(part["type"], "string"))

    return datasets.Features(feature(schema))


def contents(source: str | None) -> str:
    """What changes with the contents of a source; of one that is far away they are not known before it is fetched."""
    if source is None:
        return ""
    path = Path(source)
    if not path.exists():
        return str(time.time_ns())
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    return "\n".join(f"{file} {sha256(file)}" for file in files)


def place(source: str | os.PathLike[str]) -> str:
    """A source as text, the home folder written out; an address is no path."""
    text = os.fspath(source)
    return str(Path(text).expanduser()) if text.startswith("~") else text


def sha256(path: Path) -> str:
    """SHA-256 of a file, read a little at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def mended(value: Any) -> Any:
    """The value with U+FFFD in place of half a character (a lone surrogate), which no table holds."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if HALF.search(value) else value
    if isinstance(value, Mapping):
        return {name: mended(inner) for name, inner in value.items()}
    return list(map(mended, value)) if isinstance(value, list | tuple) else value
