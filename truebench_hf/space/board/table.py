"""The leaderboard as rows: filters, order and CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.report.csv_cells import guard
from truebench_hf.space.board import columns
from truebench_hf.space.board.columns import COLUMNS, UNKNOWN, WEIGHTS, Cell
from truebench_hf.space.board.entries import CATEGORIES, LANGUAGES, Entry

SIZES = {
    "under 3 B": (0.0, 3.0),
    "3 to 15 B": (3.0, 15.0),
    "15 to 50 B": (15.0, 50.0),
    "50 to 150 B": (50.0, 150.0),
    "over 150 B": (150.0, float("inf")),
}
BY_RANK = "Rank"
# Numbers with the greatest first, names from A to Z.
ORDERS = (BY_RANK, "Overall", "Model", "Size (B)", *CATEGORIES, *LANGUAGES)
_SOURCES = tuple(columns.SOURCES)
_APART = "font-style: italic; color: var(--tb-soft);"


@dataclass(frozen=True, slots=True)
class Filter:
    """What is shown: names of `columns.SOURCES`, `SIZES`, `WEIGHTS`, licences, text in the name. Empty: no limit."""

    source: str = ""
    sizes: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    text: str = ""


def select(entries: Sequence[Entry], wanted: Filter, order: str = BY_RANK) -> list[Entry]:
    """The entries that pass a filter, in one of `ORDERS`.

    By rank, those that were ranked together stand together: measured groups first and the largest of them on top,
    submitted ones after, published ones last. By a column, entries without a value come last.
    """
    kept = [entry for entry in entries if _passes(entry, wanted)]
    if order == BY_RANK or order not in ORDERS:
        members = Counter(entry.setting for entry in entries)
        return sorted(kept, key=lambda e: (_SOURCES.index(e.source), -members[e.setting], e.setting, *_place(e)))
    return sorted(kept, key=lambda e: (*_by(columns.cell(e, order)), *_place(e)))


def framed(entries: Sequence[Entry], chosen: Sequence[str]) -> dict[str, Any]:
    """The entries as a table to show: rank, model and overall score, then the columns asked for in our order."""
    names = columns.ordered(chosen)
    rows = [[columns.cell(entry, name) for name in names] for entry in entries]
    texts = [[columns.text(entry, name) for name in names] for entry in entries]
    return shown(names, rows, texts, [entry.source != "measured" for entry in entries])


def framed_rows(headers: Sequence[str], rows: Sequence[Sequence[Cell]]) -> dict[str, Any]:
    """Any rows as a table to show, one decimal each; those with the mark of published results are set apart."""
    texts = [[f"{c:.1f}" if isinstance(c, float) else "" if c is None else str(c) for c in row] for row in rows]
    return shown(headers, rows, texts, [columns.SOURCES["paper"] in row for row in rows])


def shown(
    headers: Sequence[str], rows: Sequence[Sequence[Cell]], texts: Sequence[Sequence[str]], apart: Sequence[bool]
) -> dict[str, Any]:
    """A table for display: values to sort by, texts to read, and lines set apart by their type."""
    styles = [[_APART if other else ""] * len(headers) for other in apart]
    return {
        "headers": list(headers),
        "data": [list(row) for row in rows],
        "metadata": {"display_value": [list(row) for row in texts], "styling": styles if any(apart) else None},
    }


def to_csv(entries: Sequence[Entry]) -> str:
    """Every column of the entries as CSV text, with the interval's ends in columns of their own."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    plain = [name for name in COLUMNS if name != "95 % interval"]
    writer.writerow(["Rank", "Last rank", "Model", "Overall", "Low 95", "High 95", *plain])
    for entry in entries:
        low, high = entry.overall.ci95 or (None, None)
        cells: list[Cell] = [entry.rank, entry.last, entry.model, entry.overall.value, low, high]
        cells += [columns.cell(entry, name) for name in plain]
        writer.writerow([guard(cell) for cell in cells])
    return out.getvalue()


def licences(entries: Sequence[Entry]) -> list[str]:
    """The licences that occur, `unknown` last where one is missing."""
    known = sorted({entry.licence for entry in entries if entry.licence})
    return known + ([UNKNOWN] if any(entry.licence is None for entry in entries) else [])


def _passes(entry: Entry, wanted: Filter) -> bool:
    return (
        (not wanted.source or entry.source == wanted.source)
        and (not wanted.sizes or _size(entry.size_b) in wanted.sizes)
        and (not wanted.weights or any(entry.open is WEIGHTS[name] for name in wanted.weights))
        and (not wanted.licences or (entry.licence or UNKNOWN) in wanted.licences)
        and wanted.text.casefold().strip() in f"{entry.model} {entry.judge} {entry.data}".casefold()
    )


def _place(entry: Entry) -> tuple[bool, int, int, float, str]:
    return entry.rank is None, entry.rank or 0, entry.last or 0, -(entry.overall.value or 0.0), entry.model


def _by(value: Cell) -> tuple[bool, float, str]:
    if isinstance(value, str):
        return False, 0.0, value.casefold()
    return value is None, -(value or 0.0), ""


def _size(size_b: float | None) -> str:
    if size_b is None:
        return UNKNOWN
    return next(name for name, (low, high) in SIZES.items() if low <= size_b < high)
