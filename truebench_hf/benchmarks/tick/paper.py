"""The tables printed in the TICK paper, as reference rows; always shown as the paper's."""

from __future__ import annotations

from typing import Any

from truebench_hf.report import paper


def paper_rows(table: str) -> list[dict[str, Any]]:
    """The rows of one of the paper's tables (1, 2, 3a, 3b, 4 to 8), keyed by column. Raises KeyError for others."""
    return paper.paper_rows("tick", f"tick_table{table}")
