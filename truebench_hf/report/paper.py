"""The tables that papers print, as reference rows; always shown as the paper's."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def paper_rows(benchmark: str, table: str) -> list[dict[str, Any]]:
    """The rows of one printed table, keyed by column: `paper_rows("tick", "tick_table2")`.

    `table` begins the name of one file in the folder `reference` of the benchmark. Raises KeyError where there is none.
    """
    for file in (files("truebench_hf.benchmarks") / benchmark / "reference").iterdir():
        if file.name.startswith(f"{table}_") or file.name == f"{table}.json":
            rows: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["rows"]
            return rows
    raise KeyError(table)
