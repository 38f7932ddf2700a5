"""Counts of a built set as small tables, for the terminal and for the card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Cell = str | int | None


@dataclass(frozen=True, slots=True)
class Table:
    """A titled table of texts and counts; a cell of None is shown as a dash."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


def counted(column: str, splits: Mapping[str, Iterable[Any]]) -> Table:
    """How many rows each value of `column` has in each split (the values by split), with their sums; the most frequent value first."""
    counts = {s: Counter("(none)" if value is None else str(value) for value in its) for s, its in splits.items()}
    whole = sum(counts.values(), Counter[str]())
    values = sorted(whole, key=lambda value: (-whole[value], value))
    body: list[tuple[Cell, ...]] = [(value, *(counts[split][value] for split in splits)) for value in values]
    sums: tuple[Cell, ...] = ("total", *(each.total() for each in counts.values()))
    return Table(f"Rows by {column.replace('_', ' ')}", (column, *splits), (*body, sums))


def markdown(table: Table) -> str:
    """The table in Markdown, numbers to the right and with separators of thousands."""
    rule = "|".join(" ---: " if _is_number_column(table, i) else " --- " for i in range(len(table.columns)))
    lines = [" | ".join(table.columns), rule, *(" | ".join(map(_shown, row)) for row in table.rows)]
    return "\n".join(f"| {line} |" if line is not rule else f"|{line}|" for line in lines)


def plain(table: Table) -> str:
    """The table with aligned columns, for a terminal."""
    shown = [table.columns, *(tuple(map(_shown, row)) for row in table.rows)]
    widths = [max(len(row[i]) for row in shown) for i in range(len(table.columns))]
    right = [_is_number_column(table, i) for i in range(len(table.columns))]
    lines = [
        "  ".join(cell.rjust(w) if r else cell.ljust(w) for cell, w, r in zip(row, widths, right, strict=True))
        for row in shown
    ]
    return "\n".join([table.title, *(f"  {line.rstrip()}" for line in lines)])


def _is_number_column(table: Table, index: int) -> bool:
    return any(isinstance(row[index], int) for row in table.rows)


def _shown(cell: Cell) -> str:
    if cell is None:
        return "-"
    return f"{cell:,}" if isinstance(cell, int) else cell.replace("|", "\\|")
