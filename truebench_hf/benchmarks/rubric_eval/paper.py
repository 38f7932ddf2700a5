"""The tables printed in the RubricEval paper, as reference rows; always shown as the paper's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "reference"


def paper_rows(table: int) -> list[dict[str, Any]]:
    """The rows of one of the paper's tables by its number, keyed by column. Raises KeyError for a table we lack."""
    for file in _FOLDER.glob(f"rubriceval_table{table}_*.json"):
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["rows"]
        return rows
    raise KeyError(f"table {table}")
