"""Scores as tables of the Space show them: cells, dots with their interval, and charts of rows."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.comparing.table import coverage
from truebench_hf.report.sections import percent
from truebench_hf.space.board import words
from truebench_hf.types import Score

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
class DrawnPoint:
    """A model on a common axis from 0 to 100, with what is told when it is pointed at."""

    name: str
    place: float
    text: str
    few: bool = False


@dataclass(frozen=True)
class FigureRow:
    """A line of a chart: bars, figures, and cells with a point a model, behind a name."""

    name: str
    cells: tuple[Bar | tuple[DrawnPoint, ...] | Cell, ...]


@dataclass(frozen=True)
class FigureRows:
    """Lines that belong together, under a title where there is one."""

    title: str
    rows: tuple[FigureRow, ...]


@dataclass(frozen=True)
class Chart:
    """Bars of results that may be compared; `heads` are the names of the columns, that of the lines first.

    `chance` marks the middle of the axis: what guessing gets, or no difference.
    """

    title: str
    heads: tuple[str, ...]
    groups: tuple[FigureRows, ...]
    note: str = ""
    chance: bool = True


@dataclass(frozen=True)
class DrawnAxis:
    """The ends of the axis on which the scores of a table are drawn, as visitors read them (percent of shares)."""

    low: float
    high: float

    def place(self, value: float) -> float:
        """Return where a value stands, in percent of the axis."""
        return round(min(100.0, max(0.0, 100 * (value - self.low) / (self.high - self.low))), 1)

    @property
    def text(self) -> str:
        """The ends as the header of the column names them."""
        return f"{self.low:g} to {self.high:g}"


def bar(score: Score | None, axis: DrawnAxis, noun: str, missing: str, *, factor: int = 100, dot: bool = False) -> Bar:
    """Return a score with its interval on an axis; a dash with the reason where there is none."""
    if score is None or score.value is None:
        left = f"{score.unscored:,} left open, none decided" if score and score.unscored else ""
        return Bar("–", None, why=left or missing)
    value = factor * score.value
    parts = [f"95 %: {ends_text(score.ci95, factor)}" if score.ci95 else "no interval is known"]
    parts += [words.counted(score.n, noun)] if score.n else []
    low, high = (axis.place(factor * end) for end in score.ci95) if score.ci95 else (None, None)
    few = not dot and 0 < score.n < FEW
    return Bar(f"{value:.1f}", round(value, 4), axis.place(value), low, high, ", ".join(parts), few, dot)


def ends_text(interval: tuple[float, float], factor: int) -> str:
    """Return the ends of an interval as they are read."""
    return f"{factor * interval[0]:.1f} to {factor * interval[1]:.1f}"


def decided(score: Score) -> Cell:
    """Return the share of what was decided."""
    return Cell(f"{percent(coverage(score), 0)} %", coverage(score), f"{score.unscored:,} left open")
