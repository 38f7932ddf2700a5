"""Tables of `datasets` as plain rows."""

from __future__ import annotations

from typing import Any

from truebench_hf.data.row_files import of_tables


def named(table: Any) -> list[dict[str, Any]]:
    """The rows, with the names of class labels in place of their numbers."""
    return [dict(record.row) for record in of_tables({"": table}, "table")[""]]
