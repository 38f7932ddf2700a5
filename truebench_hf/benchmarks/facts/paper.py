"""The tables printed in the FACTS Grounding paper, as reference rows; always shown as the paper's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "reference"
UNADJUSTED, FINAL = 5, 6  # tables of scores before and after disqualification
JUDGES = ("Gemini 1.5 Pro", "GPT-4o", "Claude 3.5 Sonnet")
SPLITS = {"Open": 860, "Blind": 859}  # prompts of each


def paper_rows(table: int) -> list[dict[str, Any]]:
    """The rows of table 2, 4, 5 or 6, keyed by column. Raises KeyError for a table we lack."""
    for file in _FOLDER.glob(f"facts_table{table}_*.json"):
        rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["rows"]
        return rows
    raise KeyError(f"table {table}")


def paper_scores(table: int) -> dict[str, dict[tuple[str, str], float]]:
    """Of table 5 or 6 the scores in percent by model, and by (split, judge)."""
    columns = [(split, judge) for split in SPLITS for judge in JUDGES]
    rows = paper_rows(table)
    return {
        row["Response Model"]: {(split, judge): row[f"{split}/{judge}"] for split, judge in columns} for row in rows
    }
