"""Charts of one group of comparable results as figures for a template: score against size, and how models spread by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, log10

from truebench_hf.comparing.runs import Entry
from truebench_hf.comparing.table import Kind, size
from truebench_hf.space.board import words
from truebench_hf.space.board.figures import FEW

WIDTH = 1000.0
_LEFT, _RIGHT, _TOP, _HEIGHT = 56.0, 20.0, 16.0, 420.0
_LINE = 30.0  # height of a line of dots
_LABELS = 190.0  # room for the names of lines
_LETTER = 6.9  # width of a letter of a label, about


@dataclass(frozen=True, slots=True)
class Point:
    """A model: where it stands, what is told when it is pointed at, and where its name goes (None: it has no room)."""

    x: float
    y: float
    name: str
    told: str
    label: tuple[float, float, str, str] | None = None  # x, y, anchor, text
    ends: tuple[float, float] | None = None
    few: bool = False


@dataclass(frozen=True)
class Figure:
    """Points with lines across (y, label) and upright (x, label); `names` are labels of lines on the left."""

    title: str
    height: float
    points: tuple[Point, ...]
    across: tuple[tuple[float, str], ...]
    upright: tuple[tuple[float, str], ...]
    x_title: str
    y_title: str = ""


def score_by_size(kind: Kind, entries: Sequence[Entry]) -> Figure | None:
    """The main score with its interval against the number of parameters; None where fewer than two sizes are known."""
    known = [(e, s, v) for e in entries if (s := size(e)) and (v := e.overall.value) is not None]
    if len(known) < 2:
        return None
    factor = kind.factor(kind.main)
    low, high = log10(min(s for _, s, _ in known)) - 0.15, log10(max(s for _, s, _ in known)) + 0.25
    ends = [factor * end for e, _, v in known for end in (e.overall.ci95 or (v, v))]
    step = _step(max(ends) - min(ends))
    floor_y, roof = step * floor(min(ends) / step), step * (floor(max(ends) / step) + 1)

    def x(value: float) -> float:
        return round(_LEFT + (WIDTH - _LEFT - _RIGHT) * (log10(value) - low) / (high - low), 1)

    def y(value: float) -> float:
        return round(_TOP + _HEIGHT * (roof - value) / (roof - floor_y), 1)

    points = [
        Point(
            x(s), y(factor * v), words.model(e.name), f"{words.model(e.name)}: {factor * v:.1f}, {s:g} B parameters",
            None, (y(factor * e.overall.ci95[0]), y(factor * e.overall.ci95[1])) if e.overall.ci95 else None,
            0 < e.overall.n < FEW,
        )
        for e, s, v in known
    ]  # fmt: skip
    ticks = [floor_y + step * i for i in range(round((roof - floor_y) / step) + 1)]
    sizes = [s for s in (0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000, 3000) if low <= log10(s) <= high]
    return Figure(
        "Score and size, where it is known", _TOP + _HEIGHT + 44, tuple(_named(points)),
        tuple((y(t), f"{t:g}") for t in ticks), tuple((x(s), f"{s:g}") for s in sizes),
        "Parameters in billions (total)", kind.unit,
    )  # fmt: skip


def spread(kind: Kind, entries: Sequence[Entry], view: str) -> Figure | None:
    """A line for each column of a view with a dot a model, the best of each named; None where nothing is in percent."""
    percent = {column.name for column in kind.columns if column.percent}
    lines, points = list[tuple[float, str]](), list[Point]()
    for head in kind.groups.get(view, ()):
        name = kind.scores[head]
        found = [(e, s, s.value) for e in entries if (s := e.scores.get(name)) is not None and s.value is not None]
        if name not in percent or not found:
            continue
        y = _TOP + _LINE * (len(lines) + 0.5)
        lines.append((y, words.column(head)))
        best = max(found, key=lambda one: one[2])
        also = sum(value == best[2] for *_, value in found) - 1
        leads = words.model(best[0].name)
        leads = f"{leads[:20]} and {also} more" if also else leads[:28]
        for entry, score, value in found:
            across = round(_LABELS + (WIDTH - _LABELS - 230) * min(1.0, max(0.0, value)), 1)
            told = f"{words.model(entry.name)}, {words.column(head)}: {100 * value:.1f}"
            told += f" ({words.counted(score.n, kind.noun)})" if score.n else ""
            named = (WIDTH - 220, y + 4, "start", f"{leads} {100 * value:.0f}") if entry is best[0] else None
            points.append(Point(across, y, words.model(entry.name), told, named, None, 0 < score.n < FEW))
    if not lines:
        return None
    ticks = tuple((_LABELS + (WIDTH - _LABELS - 230) * t / 100, str(t)) for t in range(0, 101, 20))
    return Figure(
        f"{view}: every model, the best one named",
        _TOP + _LINE * len(lines) + 44,
        tuple(points),
        tuple(lines),
        ticks,
        kind.unit,
    )


def figures(kind: Kind, entries: Sequence[Entry], views: Sequence[str]) -> list[Figure]:
    """All that can be drawn of a group."""
    made = [score_by_size(kind, entries), *(spread(kind, entries, view) for view in views)]
    return [one for one in made if one is not None]


def _step(span: float) -> float:
    """A round distance of four to nine lines over a span."""
    power: float = 10.0 ** floor(log10(span / 4)) if span > 0 else 1.0
    return next(power * i for i in (1, 2, 5, 10) if span <= 9 * power * i)


def _named(points: Sequence[Point]) -> list[Point]:
    """The points with their names beside them, where there is room: right, left, above or below."""
    taken = [(p.x - 5, p.y - 5, p.x + 5, p.y + 5) for p in points]
    made = []
    for p in points:
        long = _LETTER * len(p.name)
        for x, y, anchor, left in (
            (p.x + 8, p.y + 4, "start", p.x + 8), (p.x - 8, p.y + 4, "end", p.x - 8 - long),
            (p.x, p.y - 9, "middle", p.x - long / 2), (p.x, p.y + 17, "middle", p.x - long / 2),
        ):  # fmt: skip
            box = (left, y - 10, left + long, y + 2)
            if box[0] > _LEFT and box[2] < WIDTH and not any(_meet(box, other) for other in taken):
                taken.append(box)
                p = replace(p, label=(round(x, 1), round(y, 1), anchor, p.name))
                break
        made.append(p)
    return made


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
