"""What a study shows: grids of figures, bars, dots with intervals, points on axes or in clouds. Plain values, no drawing."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Grid:
    """A table of texts. `paper` holds reference rows that a paper printed; they are always marked as such."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    paper: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    printed: bool = True  # whether the terminal shows it, too; the page always does


@dataclass(frozen=True)
class Dot:
    """One value on an axis, in its unit, with an interval where there is one. Dots of a series share a colour."""

    series: str
    value: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class Dots:
    """A line of dots per label on a common axis from `low` to `high`; `mark` is a value worth a vertical line."""

    title: str
    lines: tuple[tuple[str, tuple[Dot, ...]], ...]
    unit: str = "%"
    low: float = 0.0
    high: float = 100.0
    mark: float | None = None
    note: str = ""

    @property
    def series(self) -> tuple[str, ...]:
        """The names of all series, in order of appearance."""
        return tuple(dict.fromkeys(dot.series for _, dots in self.lines for dot in dots))


@dataclass(frozen=True)
class Bars:
    """A bar per (label, value, text beside it), drawn against the largest value."""

    title: str
    bars: tuple[tuple[str, float, str], ...]
    note: str = ""

    @property
    def most(self) -> float:
        """The largest value, 1 where all are 0."""
        return max((value for _, value, _ in self.bars), default=0.0) or 1.0


@dataclass(frozen=True)
class Cloud:
    """Points (x, y, group, text) in a plane without units, coloured by group."""

    title: str
    points: tuple[tuple[float, float, str, str], ...]
    groups: tuple[str, ...] = field(default=())
    note: str = ""


@dataclass(frozen=True)
class Axis:
    """An axis of a plot, from `low` to `high`."""

    label: str
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """Points (x, y, weight in 0..1 that shows as size, text), in order; `joined` by a line or not."""

    name: str
    points: tuple[tuple[float, float, float, str], ...]
    joined: bool = False


@dataclass(frozen=True)
class Plot:
    """Series of points on two axes, with a line from corner to corner where `diagonal`."""

    title: str
    series: tuple[Series, ...]
    x: Axis
    y: Axis
    diagonal: bool = False
    note: str = ""


Figure = Grid | Dots | Bars | Cloud | Plot
