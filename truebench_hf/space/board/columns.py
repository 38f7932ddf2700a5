"""The leaderboard's columns: what they are called, what stands in them, and how it reads."""

from __future__ import annotations

from collections.abc import Iterable

from truebench_hf.space.board.entries import CATEGORIES, LANGUAGES, Entry

Cell = str | float | int | None
FIXED = ("Rank", "Model", "Overall")
FACTS = ("95 % interval", "Results", "n", "Unscored", "Size (B)", "Weights", "Licence", "Judge", "Data")
COLUMNS = (*FACTS, *CATEGORIES, *LANGUAGES)
# The overview names what a rank is over: judge and data. It is also the lightest page to draw first.
VIEWS = {
    "Overview": ("95 % interval", "Results", "Judge", "Data", "n", "Unscored"),
    "Categories": ("95 % interval", "Results", *CATEGORIES),
    "Languages": ("95 % interval", "Results", *LANGUAGES),
    "Facts": FACTS,
}
SOURCES = {"measured": "measured", "submitted": "submitted ‡", "paper": "paper †"}
UNKNOWN = "unknown"
WEIGHTS = {"open": True, "closed": False, UNKNOWN: None}
MISPRINT = " (!)"
_WIDTHS = {
    "Rank": 68, "Model": 250, "Overall": 90, "95 % interval": 130, "Results": 112, "n": 72, "Unscored": 108,
    "Licence": 150, "Judge": 200, "Data": 200,
}  # fmt: skip


def ordered(chosen: Iterable[str]) -> list[str]:
    """The table's columns for a choice of `COLUMNS`: the fixed ones, then those asked for in our order."""
    wanted = set(chosen)
    return [*FIXED, *(name for name in COLUMNS if name in wanted)]


def cell(entry: Entry, name: str) -> Cell:
    """What stands in a column: a share in percent, a number, a text, or None where there is nothing."""
    if name == "Overall" or name in CATEGORIES or name in LANGUAGES:
        score = entry.overall if name == "Overall" else entry.parts.get(name)
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


def text(entry: Entry, name: str) -> str:
    """The same as it reads: one decimal for shares, `3-5` for a rank that spans places, a mark on figures misprinted in the paper."""
    value = cell(entry, name)
    if value is None:
        return ""
    if name == "Rank":
        return str(value) if entry.last in (None, entry.rank) else f"{value}-{entry.last}"
    if name == "Size (B)":
        return f"{value:g}"
    shown = f"{value:.1f}" if isinstance(value, float) else str(value)
    return shown + MISPRINT if name in entry.misprints else shown


def width(name: str) -> str:
    """How wide a column is, for CSS."""
    return f"{_WIDTHS.get(name, 30 + 8 * max(5, len(name)))}px"
