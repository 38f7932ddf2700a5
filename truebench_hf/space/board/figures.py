"""Scores as tables of the Space show them: cells, dots with their interval, and charts of rows."""

from __future__ import annotations

from dataclasses import dataclass

FEW = 30  # below so many instances a cell is shown pale: its interval is wider than most differences


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell: a text, a number to sort by (None: nothing is there, and `why`), and a tint.

    The tint runs from -100 (the lowest of its column) over 0 (the mean of the column) to 100.
    """

    text: str
    sort: float | str | None
    why: str = ""
    tint: int | None = None
    few: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A score with its interval beside its figure, all in percent of the scale: a bar, or a dot on an axis of its own."""

    text: str
    sort: float | None
    width: float = 0.0
    low: float | None = None
    high: float | None = None
    why: str = ""
    few: bool = False
    dot: bool = False


@dataclass(frozen=True, slots=True)
class Point:
    """A model on a common axis from 0 to 100, with what is told when it is pointed at."""

    name: str
    place: float
    told: str
    few: bool = False


@dataclass(frozen=True, slots=True)
class Points:
    """A cell with a point a model."""

    points: tuple[Point, ...]


@dataclass(frozen=True)
class Row:
    """A line of a chart: bars, points and figures behind a name."""

    name: str
    cells: tuple[Bar | Points | Cell, ...]
    chosen: bool = False


@dataclass(frozen=True)
class Rows:
    """Lines that belong together, under a title where there is one."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Chart:
    """Bars of results that may be compared; `heads` are the names of the columns, that of the lines first.

    `chance` marks the middle of the axis: what guessing gets, or no difference. `wide` takes the page's whole width.
    """

    title: str
    heads: tuple[str, ...]
    groups: tuple[Rows, ...]
    note: str = ""
    chance: bool = True
    wide: bool = False
