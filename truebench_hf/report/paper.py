"""The tables that papers printed, as they stand in `benchmarks/ROOM/reference`; shown as reference rows only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def printed_rows(folder: Path, table: str) -> list[dict[str, Any]]:
    """The rows of a table, keyed by column; `table` is how its file begins (`tick_table3a`). Raises KeyError."""
    for file in folder.glob(f"{table}_*.json"):
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["rows"]
        return rows
    raise KeyError(table)
