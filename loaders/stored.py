"""A split on disk, as Parquet: its rows are read a few at a time, however large it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from datasets import ClassLabel, Features

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
            features = Features.from_arrow_schema(file.schema_arrow)
            labels = {name: kind.names for name, kind in features.items() if isinstance(kind, ClassLabel)}
            for batch in file.iter_batches(BATCH, columns=columns):
                for row in batch.to_pylist():
                    yield row | {c: n[row[c]] for c, n in labels.items() if row.get(c) is not None}
