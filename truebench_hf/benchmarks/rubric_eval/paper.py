"""The tables printed in the RubricEval paper, as reference rows; always shown as the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from truebench_hf.report.paper import printed_rows


def paper_rows(table: int) -> list[dict[str, Any]]:
    """The rows of one of the paper's tables by its number, keyed by column. Raises KeyError for a table we lack."""
    return printed_rows(Path(__file__).parent / "reference", f"rubriceval_table{table}")
