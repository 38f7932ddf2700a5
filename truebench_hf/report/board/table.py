"""The leaderboard as rows: columns, filters, order and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.report.board.entries import CATEGORIES, LANGUAGES, Entry

Cell = str | float | int | None
FIXED = ("Rank", "Model", "Overall")
FACTS = ("95 % interval", "Results", "n", "Unscored", "Size (B)", "Weights", "Licence", "Judge", "Data")
COLUMNS = (*FACTS, *CATEGORIES, *LANGUAGES)
VIEWS = {
    "Categories": ("95 % interval", "Results", *CATEGORIES),
    "Languages": ("95 % interval", "Results", *LANGUAGES),
    "Facts": FACTS,
}
SOURCES = {"measured": "measured", "paper": "paper †"}
SIZES = {
    "under 3 B": (0.0, 3.0),
    "3 to 15 B": (3.0, 15.0),
    "15 to 50 B": (15.0, 50.0),
    "50 to 150 B": (50.0, 150.0),
    "over 150 B": (150.0, float("inf")),
}
UNKNOWN = "unknown"
_APART = "font-style: italic; color: var(--tb-soft);"
WEIGHTS = {"open": True, "closed": False, UNKNOWN: None}


@dataclass(frozen=True, slots=True)
class Filter:
    """What is shown: names of `SOURCES`, `SIZES`, `WEIGHTS`, licences, and a text in the name. Empty: no limit."""

    source: str = ""
    sizes: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    licences: tuple[str, ...] = ()
    text: str = ""


def select(entries: Sequence[Entry], wanted: Filter) -> list[Entry]:
    """The entries that pass a filter: by score, measured ones before published ones."""
    kept = [entry for entry in entries if _passes(entry, wanted)]
    return sorted(kept, key=lambda e: (e.source == "paper", -(e.overall.value or 0.0), e.model))


def rows(entries: Sequence[Entry], columns: Sequence[str]) -> tuple[list[str], list[list[Cell]]]:
    """(headers, rows) for the columns asked for, in our order, behind rank, model and overall score."""
    chosen = [*FIXED, *(name for name in COLUMNS if name in columns)]
    return chosen, [[_cell(entry, name) for name in chosen] for entry in entries]


def framed(headers: Sequence[str], rows: Sequence[Sequence[Cell]], ranks: Sequence[str] = ()) -> dict[str, Any]:
    """A table for display: numbers to sort by, one decimal to read, `ranks` in place of the first column's texts.

    Rows with the mark of published results are set apart by their type, too.
    """
    texts = [[_text(cell) for cell in row] for row in rows]
    for row, rank in zip(texts, ranks, strict=False):
        row[0] = rank
    styles = [[_APART if SOURCES["paper"] in row else ""] * len(row) for row in rows]
    return {
        "headers": list(headers),
        "data": [list(row) for row in rows],
        "metadata": {"display_value": texts, "styling": styles},
    }


def to_csv(entries: Sequence[Entry]) -> str:
    """Every column of the entries as CSV text, with the interval's ends in columns of their own."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    plain = [name for name in COLUMNS if name != "95 % interval"]
    writer.writerow(["Rank", "Tied", "Model", "Overall", "Low 95", "High 95", *plain])
    for entry in entries:
        low, high = entry.overall.ci95 or (None, None)
        cells: list[Cell] = [entry.rank, "yes" if entry.tied else "no", entry.model, entry.overall.value, low, high]
        cells += [_cell(entry, name) for name in plain]
        writer.writerow([_harmless(cell) for cell in cells])
    return out.getvalue()


def licences(entries: Sequence[Entry]) -> list[str]:
    """The licences that occur, `unknown` last where one is missing."""
    known = sorted({entry.licence for entry in entries if entry.licence})
    return known + ([UNKNOWN] if any(entry.licence is None for entry in entries) else [])


def rank_text(entry: Entry) -> str:
    """`3`, or `3=` where the model cannot be told from others of that rank."""
    return "" if entry.rank is None else f"{entry.rank}{'=' if entry.tied else ''}"


def _passes(entry: Entry, wanted: Filter) -> bool:
    return (
        (not wanted.source or entry.source == wanted.source)
        and (not wanted.sizes or _size(entry.size_b) in wanted.sizes)
        and (not wanted.weights or any(entry.open is WEIGHTS[name] for name in wanted.weights))
        and (not wanted.licences or (entry.licence or UNKNOWN) in wanted.licences)
        and wanted.text.casefold().strip() in f"{entry.model} {entry.judge}".casefold()
    )


def _text(cell: Cell) -> str:
    if cell is None:
        return ""
    return f"{cell:.1f}" if isinstance(cell, float) else str(cell)


def _size(size_b: float | None) -> str:
    if size_b is None:
        return UNKNOWN
    return next(name for name, (low, high) in SIZES.items() if low <= size_b < high)


def _cell(entry: Entry, name: str) -> Cell:
    score = entry.overall if name == "Overall" else entry.parts.get(name)
    if name == "Overall" or name in CATEGORIES or name in LANGUAGES:
        return None if score is None or score.value is None else round(score.value, 1)
    interval = entry.overall.ci95
    facts: dict[str, Cell] = {
        "Rank": entry.rank,
        "Model": entry.model,
        "95 % interval": "" if interval is None else f"{interval[0]:.1f} to {interval[1]:.1f}",
        "Results": SOURCES[entry.source],
        "n": entry.overall.n,
        "Unscored": entry.overall.unscored,
        "Size (B)": entry.size_b,
        "Weights": {True: "open", False: "closed", None: UNKNOWN}[entry.open],
        "Licence": entry.licence or UNKNOWN,
        "Judge": entry.judge,
        "Data": entry.data,
    }
    return facts[name]


def _harmless(cell: Cell) -> Cell:
    # A name that opens like a formula would be run by a spreadsheet.
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") else cell
