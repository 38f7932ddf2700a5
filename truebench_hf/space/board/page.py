"""One board as a page shows it: what can be chosen, a table of one group or its charts, and the other groups."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import COVERED, MISPRINT, SIZE, UNKNOWN, Kind, coverage, size
from truebench_hf.report.sections import percent, points
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.asked import Asked
from truebench_hf.space.board.boards import BoardGroup, OneBoard
from truebench_hf.space.board.figures import (
    FEW,
    Bar,
    Cell,
    Chart,
    DrawnAxis,
    DrawnPoint,
    FigureRow,
    FigureRows,
    bar,
    decided,
    ends_text,
)
from truebench_hf.space.board.store import Snapshot
from truebench_hf.types import Score

CHART, ABOUT = "Chart", "Details"


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact above the table: words around a number. That on `trust` in the judge stays on phones; it may warn."""

    number: str = ""
    before: str = ""
    after: str = ""
    trust: bool = False
    warns: bool = False


@dataclass(frozen=True)
class ColumnHead:
    """The header of a column: its id in addresses, its name, a line on what it is, and the fact that stands in it, if any."""

    id: str
    name: str
    about: str = ""
    fact: str = ""

    @property
    def prose(self) -> bool:
        """Whether a text is read in it."""
        return self.fact not in ("", SIZE)


@dataclass(frozen=True)
class PageRow:
    """A line: `also` tells it from others of its name, `search` is what it is found by beside its name."""

    key: str
    name: str
    also: str
    search: str
    rank: str
    rank_why: str
    bar: Bar
    cells: tuple[Cell, ...]
    has_items: bool = False


@dataclass(frozen=True)
class PageTable:
    """The rows of a group under their headers; `axis` is what the dots of their scores stand on."""

    heads: tuple[ColumnHead, ...]
    rows: tuple[PageRow, ...]
    axis: str = ""


@dataclass(frozen=True)
class Page:
    """What the template draws. `lead` says who leads. `sides` are our results and the published ones where there are both:
    name, id of the first group, whether it is shown. `others` are the further groups of this side under their headings.
    """

    boards: tuple[OneBoard, ...]
    board: OneBoard
    group: BoardGroup | None
    views: tuple[str, ...]
    view: str
    heading: str
    lead: str
    sides: tuple[tuple[str, str, bool], ...]
    facts: tuple[Fact, ...]
    table: PageTable
    charts: tuple[Chart, ...]
    approximate: bool
    others: Mapping[str, Sequence[BoardGroup]]
    stale: str


def found(snapshot: Snapshot, query: Asked) -> tuple[tuple[OneBoard, ...], OneBoard, BoardGroup | None]:
    """All boards, and the board and group that are asked for, or else the first."""
    all_boards = boards.boards(snapshot)
    board = next((board for board in all_boards if board.id == query.board), all_boards[0])
    return all_boards, board, board.group(query.group)


def page(snapshot: Snapshot, query: Asked) -> Page:
    """The page that is asked for, or what comes nearest to it."""
    all_boards, board, group = found(snapshot, query)
    kind, entries = board.kind, group.entries if group else ()
    scored = {name for entry in entries for name, score in entry.scores.items() if score.value is not None}
    scored_views = [name for name, columns in kind.groups.items() if any(column.name in scored for column in columns)]
    views = (*scored_views, ABOUT, CHART)
    view = query.view if query.view in views else views[0]
    published, others = group is not None and group.what == "paper", dict[str, list[BoardGroup]]()
    for other in board.published if published else board.ours:
        if other is not group:
            others.setdefault(boards.HEADINGS[other.what], []).append(other)
    sides: tuple[tuple[str, str, bool], ...] = ()
    if board.ours and board.published:
        sides = ("Yours", board.ours[0].id, not published), ("Published", board.published[0].id, published)
    return Page(
        all_boards, board, group, views, view, boards.heading(group) if group else "", boards.lead(group) if group else "",
        sides, tuple(_facts(snapshot, board, group)) if group else (), table(kind, group, view),
        tuple(charts(kind, entries, scored_views)) if view == CHART else (), any(e.approximate for e in entries), others,
        snapshot.stale,
    )  # fmt: skip


def _facts(snapshot: Snapshot, board: OneBoard, group: BoardGroup) -> Iterator[Fact]:
    """What stands in the line above the table."""
    columns, count = {name for entry in group.entries for name in entry.scores}, len(group.entries)
    for name in ("Languages", "Categories"):
        parts = sum(column.name in columns for column in board.kind.groups.get(name, ()))
        if parts > 1:
            yield Fact(str(parts), after=name.lower())
    yield Fact(str(count), after=f"{'judge' if board.kind.name == JUDGES else 'model'}{'' if count == 1 else 's'}")
    if trust := boards.judge_trust(snapshot, group):
        score = trust.score
        interval = f"({ends_text(score.ci95, 100)})" if score.ci95 else "(no interval)"
        on = f"on {words.counted(score.n, 'rubric')} of {trust.where}" if score.n else f"of {trust.where}"
        way = (f", asked by {trust.how}" if trust.how else "") + ("" if trust.same_way else ", another way than here")
        chance = ": no better than guessing, which gets 50" if trust.is_chance else "; guessing gets 50"
        figure = f"{percent(score.value, 1)} %"
        yield Fact(figure, "judge: balanced accuracy", f"{interval} {on}{way}{chance}", True, trust.is_chance)
    elif "Judge" in group.entries[0].facts:
        yield Fact(before="how far the judge can be trusted was not measured here", trust=True)
    if snapshot.read_at:
        yield Fact(time.strftime("%H:%M UTC", time.gmtime(snapshot.read_at)), before="as of")


def table(kind: Kind, group: BoardGroup | None, view: str) -> PageTable:
    """The table of a group with the columns of a view."""
    if group is None:
        return PageTable((), ())
    heads, spreads = tuple(_heads(kind, group.entries, view)), dict[str, tuple[float, float]]()
    for name in (head.id for head in heads if head.id in kind.column and kind.column[head.id].percent):
        scores = (entry.scores.get(name) for entry in group.entries)
        if values := [score.value for score in scores if score is not None and score.value is not None]:
            mean = sum(values) / len(values)
            spreads[name] = mean, max(0.1, *(abs(value - mean) for value in values))
    axis, also = score_axis(kind, group.entries), boards.differing(group)
    rows = tuple(
        PageRow(
            e.key, words.model(e.name), also.get(e.key, ""), " ".join((e.name, *e.facts.values())), *_rank(group, e),
            score_bar(kind, e.overall, axis), tuple(_cell(kind, e, head, spreads.get(head.id)) for head in heads),
            e.folder is not None,
        )
        for e in group.entries
    )  # fmt: skip
    return PageTable(heads, rows, axis.text)


def _heads(kind: Kind, entries: Sequence[BoardEntry], view: str) -> Iterator[ColumnHead]:
    present = {name for entry in entries for name in entry.scores}
    if view in kind.groups:
        columns = (column for column in kind.groups[view] if column.name in present)
        yield from (ColumnHead(column.name, words.column(column.title), column.about) for column in columns)
        if any(coverage(e.overall) < 1 for e in entries):
            yield ColumnHead("coverage", "Decided")
        return
    yield ColumnHead("coverage", "Decided")
    yield ColumnHead("n", f"{kind.noun}s".capitalize())
    for head, name in list(kind.scores.items())[1:]:
        if not kind.column[name].group and name in present:
            yield ColumnHead(name, head)
    for fact in kind.facts:
        values = {entry.facts.get(fact) for entry in entries}
        if values != {None} and (len(values) > 1 or fact not in boards.IN_HEADING):
            yield ColumnHead(f"fact:{fact}", fact, fact=fact)


def _cell(kind: Kind, entry: BoardEntry, head: ColumnHead, spread: tuple[float, float] | None) -> Cell:
    overall, printed = entry.overall, entry.source == "paper"
    counted = overall.n + overall.unscored > 0
    if head.fact == SIZE:
        known = size(entry)
        return Cell("–", None, "not known") if known is None else Cell(f"{known:g}", known)
    if head.fact:
        text = words.fact(head.fact, entry.facts.get(head.fact, ""))
        return Cell(text, text.casefold()) if text and text != UNKNOWN else Cell("–", None, "not known")
    if head.id == "n":
        return Cell(f"{overall.n:,}", overall.n) if counted else Cell("–", None, "not told in the paper")
    if head.id == "coverage":
        if printed or not counted:
            return Cell("–", None, "not told in the paper" if printed else "nothing was judged")
        return decided(overall)
    score = entry.scores.get(head.id)
    if score is None or score.value is None:
        left = f"{score.unscored:,} left open, none decided" if score and score.unscored else ""
        return Cell("–", None, left or ("not published" if printed else "not in the data of this run"))
    percent, mark = kind.column[head.id].percent, MISPRINT if head.id in entry.misprints else ""
    value = 100 * score.value if percent else score.value
    parts = [f"{head.name}: {value:.1f}"]
    parts += [f"{score.n:,} decided"] if score.n else []
    parts += [f"95 %: {ends_text(score.ci95, 100 if percent else 1)}"] if score.ci95 else []
    parts += [f"{score.unscored:,} left open"] if score.unscored else []
    parts += ["as printed: the paper contradicts itself here"] if mark else []
    parts += [f"{points(score.value - spread[0])} points against the mean of the column"] if spread else []
    tint = round(100 * (score.value - spread[0]) / spread[1]) if spread else None
    text = f"{value:.0f}{mark}" if percent else f"{value:.1f}{mark}"
    return Cell(text, round(value, 3), ", ".join(parts), tint, 0 < score.n < FEW)


def _rank(group: BoardGroup, entry: BoardEntry) -> tuple[str, str]:
    """The span of places, or a dash with the reason."""
    if len(group.entries) == 1:
        return "–", "the only result of its kind: nothing to rank it among"
    if entry.rank is not None:
        return places(entry), ""
    if entry.overall.value is None:
        return "–", "not ranked: nothing was decided"
    if coverage(entry.overall) < COVERED:
        return "–", f"not ranked: {percent(1 - coverage(entry.overall), 0)} % of it was left open"
    return "–", "not ranked: there is no interval"


def places(entry: BoardEntry) -> str:
    """Return the span of places of a ranked entry as it reads: `3`, or `3–5`."""
    return f"{entry.rank}" if entry.last in (None, entry.rank) else f"{entry.rank}–{entry.last}"


def score_axis(kind: Kind, entries: Sequence[BoardEntry]) -> DrawnAxis:
    """Return an axis with round ends that holds all scores of the main column with their intervals."""
    factor, overall = kind.factor, [entry.overall for entry in entries if entry.overall.value is not None]
    ends = [factor * end for score in overall for end in (score.value or 0.0, *(score.ci95 or ()))]
    if not ends:
        return DrawnAxis(0.0, 100.0 if factor == 100 else 1.0)
    width = max(max(ends) - min(ends), 1.0 if factor == 100 else 1e-6)
    step = 10.0 ** floor(log10(width))
    low, high = step * floor(min(ends) / step), step * ceil(max(ends) / step)
    return DrawnAxis(round(low, 6), round(high if high > low else low + step, 6))


def score_bar(kind: Kind, score: Score, axis: DrawnAxis) -> Bar:
    """Return the dot of a main score with its interval on an axis."""
    return bar(score, axis, kind.noun, "nothing was decided", factor=kind.factor, dot=True)


def charts(kind: Kind, entries: Sequence[BoardEntry], views: Sequence[str]) -> Iterator[Chart]:
    """All that can be drawn of a group: sizes where two of them are known, and of each view the columns in percent, a dot a
    model, the best of each named."""
    known = sorted((parameters, entry.key, entry) for entry in entries if (parameters := size(entry)))
    if len(known) > 1:
        axis = score_axis(kind, entries)
        rows = [
            FigureRow(words.model(e.name), (Cell(f"{parameters:g}", parameters), score_bar(kind, e.overall, axis)))
            for parameters, _, e in known
            if e.overall.value is not None
        ]
        heads = ("Model", "Size (B)", f"{kind.unit}, {axis.text}")
        yield Chart("Score and size, the smallest model first", heads, (FigureRows("", tuple(rows)),), chance=False)
    for view in views:
        rows = []
        for column in kind.groups.get(view, ()):
            points = _points(entries, column.name) if column.percent else ()
            if points:
                best = max(points, key=lambda point: point.place)
                also = sum(point.place == best.place for point in points) - 1
                text = f"{best.name} and {also} more" if also else best.name
                rows.append(
                    FigureRow(words.column(column.title), (points, Cell(f"{text} {best.place:.0f}", best.place)))
                )
        if rows:
            heads = (view, "0 to 100, a dot a model", "Best")
            title = f"{view}: every model, the best one named"
            yield Chart(title, heads, (FigureRows("", tuple(rows)),), chance=False)


def _points(entries: Sequence[BoardEntry], column: str) -> tuple[DrawnPoint, ...]:
    points = []
    for entry in entries:
        score = entry.scores.get(column)
        if score is not None and score.value is not None:
            value, name = 100 * score.value, words.model(entry.name)
            text = f"{name}: {value:.1f}" + (f" ({score.n:,} decided)" if score.n else "")
            points.append(DrawnPoint(name, round(min(100.0, max(0.0, value)), 1), text, 0 < score.n < FEW))
    return tuple(points)
