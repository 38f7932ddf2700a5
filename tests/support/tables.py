"""Tables of `datasets` as plain rows, and rows of a study's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truebench_hf.data.row_files import of_tables
from truebench_hf.report.table import Table


def named(table: Any) -> list[dict[str, Any]]:
    """The rows, with the names of class labels in place of their numbers."""
    return [dict(record.row) for record in of_tables({"": table}, "table")[""]]


def row_of(table: Table, **cells: Any) -> Mapping[str, Any]:
    """The one row of a table with these cells."""
    (row,) = [row for row in table.rows if all(row.get(name) == value for name, value in cells.items())]
    return row
