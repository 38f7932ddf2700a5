"""The leaderboard's page: what can be chosen, the table of one group or its charts, and the other groups."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from truebench_hf.comparing.papers import PAPERS
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import COVERED, MISPRINT, SIZE, UNKNOWN, Kind, coverage, size
from truebench_hf.report.sections import Axis, Plot, Series, percent, points
from truebench_hf.report.table import Column
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.boards import BoardGroup, ShownBoard
from truebench_hf.space.board.store import Snapshot
from truebench_hf.space.pages import Query
from truebench_hf.study.ranking import COST
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Score

CHARTS, DETAILS = "Charts", "Details"
FEW = 30  # below so many instances a cell is shown pale: its interval is wider than most differences
_LANES = 5  # brackets that stand beside each other at most
_SUBMITTED = "Submitted by visitors: the scores follow from the judgments handed in; answers and judge are their word."


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell: a text, a value to sort by (None: nothing is there), why, and a tint.

    The tint runs from -100 (the lowest of its column) over 0 (the mean of the column) to 100.
    """

    text: str
    sort: float | str | None
    why: str = ""
    tint: int | None = None
    few: bool = False


@dataclass(frozen=True)
class PageRow:
    """A line: `also` tells it from others of its name. `brackets` are the parts of brackets beside its rank, lane by lane:
    "start", "middle", "end", or "" for none."""

    entry: BoardEntry
    name: str
    also: str
    rank: Cell
    brackets: tuple[str, ...]
    score: Cell
    cells: tuple[Cell, ...]


def chosen(snapshot: Snapshot, query: Query) -> tuple[tuple[ShownBoard, ...], ShownBoard, BoardGroup]:
    """Return all boards, and the board and group that are asked for, or else the first."""
    all_boards = boards.boards(snapshot)
    board = next((board for board in all_boards if board.id == query.board), all_boards[0])
    return all_boards, board, board.group(query.group)


def page(snapshot: Snapshot, query: Query) -> dict[str, Any]:
    """Return what the template draws of the page that is asked for, or of what comes nearest to it.

    `sides` are our results and the published ones where there are both: name, id of the first group, whether it is shown.
    `facts` are numbers and words above the table. `others` are the further groups of this side under their headings.
    `selected` is the key of the model that charts bring out.
    """
    all_boards, board, group = chosen(snapshot, query)
    kind, entries, others = board.kind, group.entries, dict[str, list[BoardGroup]]()
    scored = {name for entry in entries for name, score in entry.scores.items() if score.value is not None}
    views = [name for name, columns in kind.groups.items() if any(column.name in scored for column in columns)]
    plots = list(_plots(kind, group, board, query.model))
    views += [DETAILS, CHARTS] if plots else [DETAILS]
    view = query.view if query.view in views else views[0]
    is_published = group.what == "paper"
    for other in board.published if is_published else board.ours:
        if other is not group:
            others.setdefault(boards.HEADINGS[other.what], []).append(other)
    sides: tuple[tuple[str, str, bool], ...] = ()
    if board.ours and board.published:
        sides = ("Yours", board.ours[0].id, not is_published), ("Published", board.published[0].id, is_published)
    return {
        "boards": all_boards, "board": board, "group": group, "stale": snapshot.stale, "others": others,
        "views": views, "view": view, "sides": sides, "heading": boards.heading(group), "lead": boards.lead(group),
        "facts": list(_facts(snapshot, board, group)), "trust": boards.judge_trust(snapshot, group),
        "table": None if view == CHARTS else table(kind, group, view), "plots": plots,
        "notes": PAPERS[kind.name].notes if is_published else (_SUBMITTED,) if group.what == "submitted" else (),
        "selected": query.model if any(entry.key == query.model for entry in entries) else "",
    }  # fmt: skip


def _facts(snapshot: Snapshot, board: ShownBoard, group: BoardGroup) -> Iterator[tuple[str, str]]:
    """Yield what is counted on a board, and when it was read: a number and words."""
    present = {name for entry in group.entries for name in entry.scores}
    for name in ("Languages", "Categories"):
        parts = sum(column.name in present for column in board.kind.groups.get(name, ()))
        if parts > 1:
            yield str(parts), name.lower()
    count, _, noun = boards.counted(board, group).partition(" ")
    yield count, noun
    if snapshot.read_at:
        yield time.strftime("%H:%M UTC", time.gmtime(snapshot.read_at)), "last read"


def table(kind: Kind, group: BoardGroup, view: str) -> dict[str, Any]:
    """Return the rows of a group under the columns of a view; the dots of `main` stand on an axis of its own, whose ends
    `axis` names."""
    columns, spreads = tuple(_columns(kind, group.entries, view)), dict[str, tuple[float, float]]()
    for name in (column.name for column in columns if column.kind == "score" and column.unit):
        scores = (entry.scores.get(name) for entry in group.entries)
        if values := [score.value for score in scores if score is not None and score.value is not None]:
            mean = sum(values) / len(values)
            spreads[name] = mean, max(0.1, *(abs(value - mean) for value in values))
    low, high = score_axis(kind, group.entries)
    main = Column(
        "score", kind.main, "score", kind.unit, "%" if kind.factor == 100 else "", 1,
        axis=(low / kind.factor, high / kind.factor),
    )  # fmt: skip
    also = boards.differing(group)
    rows = tuple(
        PageRow(
            entry, words.model(entry.name), also.get(entry.key, ""), _rank(group, entry), parts,
            _score(kind, entry.overall, main),
            tuple(_cell(entry, column, spreads.get(column.name)) for column in columns),
        )
        for entry, parts in zip(group.entries, brackets(group.entries), strict=True)
    )  # fmt: skip
    tinted = any(cell.tint and not cell.few for row in rows for cell in row.cells)
    return {"columns": columns, "rows": rows, "main": main, "axis": f"{low:g} to {high:g}", "tinted": tinted}


def _columns(kind: Kind, entries: Sequence[BoardEntry], view: str) -> Iterator[Column]:
    """Yield the columns of a view beside rank, name and main score."""

    def scored(name: str, title: str) -> Column:
        column = kind.column[name]
        return Column(name, title, "score", column.about, "%" if column.percent else "", 0 if column.percent else 1)

    present = {name for entry in entries for name in entry.scores}
    in_group = (column for column in kind.groups.get(view, ()) if column.name in present)
    yield from (scored(column.name, words.column(column.title)) for column in in_group)
    if any(coverage(entry.overall) < 1 for entry in entries):
        yield Column("coverage", "Decided", "number", "The share that the judge decided")
    if view in kind.groups:
        return
    if len({entry.overall.n for entry in entries}) > 1:  # else the heading says it
        yield Column("n", f"{kind.noun}s".capitalize(), "count")
    for title, name in list(kind.scores.items())[1:]:
        if not kind.column[name].group and name in present:
            yield scored(name, title)
    for fact in kind.facts:
        values = {entry.facts.get(fact) for entry in entries}
        if values != {None} and (len(values) > 1 or fact not in boards.IN_HEADING):
            yield Column(fact, fact, "number" if fact == SIZE else "text")


def _cell(entry: BoardEntry, column: Column, spread: tuple[float, float] | None) -> Cell:
    overall, printed = entry.overall, entry.source == "paper"
    counted = overall.n + overall.unscored > 0
    if column.name == SIZE:
        known = size(entry)
        return _nothing("not known") if known is None else Cell(f"{known:g}", known)
    if column.kind == "text":
        text = words.fact(column.name, entry.facts.get(column.name, ""))
        return Cell(text, text.casefold()) if text and text != UNKNOWN else _nothing("not known")
    if column.kind != "score" and (not counted or (printed and column.name == "coverage")):
        return _nothing("not told in the paper" if printed else "nothing was judged")
    if column.name == "n":
        return Cell(f"{overall.n:,}", overall.n)
    if column.name == "coverage":
        decided = coverage(overall)
        return Cell(f"{percent(decided, 0)} %", decided, f"{overall.unscored:,} left open")
    score = entry.scores.get(column.name)
    if score is None or score.value is None:
        absent = "not published" if printed else "not in the data of this run"
        return _nothing(without_score(score) if score and score.n + score.unscored else absent)
    mark = MISPRINT if column.name in entry.misprints else ""
    parts = [f"{column.title}: {column.factor * score.value:.1f}"]
    parts += [f"{score.n:,} decided"] if score.n else []
    parts += [f"95 %: {_ends(score.ci95, column.factor)}"] if score.ci95 else []
    parts += [f"{score.unscored:,} left open"] if score.unscored else []
    parts += ["as printed: the paper contradicts itself here"] if mark else []
    parts += [f"{points(score.value - spread[0])} points against the mean of the column"] if spread else []
    tint = round(100 * (score.value - spread[0]) / spread[1]) if spread else None
    text = f"{column.number(score.value)}{mark}"
    return Cell(text, round(column.factor * score.value, 3), ", ".join(parts), tint, 0 < score.n < FEW)


def _score(kind: Kind, score: Score, main: Column) -> Cell:
    """Return the cell of the main score."""
    if score.value is None:
        return _nothing(without_score(score))
    parts = [f"95 %: {_ends(score.ci95, kind.factor)}" if score.ci95 else "no interval is known"]
    parts += [how_many(score.n, kind.noun)] if score.n else []
    return Cell(main.number(score.value), round(kind.factor * score.value, 4), ", ".join(parts))


def _nothing(why: str) -> Cell:
    return Cell("–", None, why)


def without_score(score: Score) -> str:
    """Return why a score has no value."""
    if score.n:
        return "a part of what it is made of was not measured"
    return f"{score.unscored:,} left open, none decided" if score.unscored else "nothing was decided"


def _ends(interval: tuple[float, float], factor: int) -> str:
    """Return the ends of an interval as they are read."""
    return f"{factor * interval[0]:.1f} to {factor * interval[1]:.1f}"


def _rank(group: BoardGroup, entry: BoardEntry) -> Cell:
    """Return the span of places, or a dash with the reason."""
    if len(group.entries) == 1:
        return _nothing("the only result of its kind: nothing to rank it among")
    if entry.rank is not None:
        return Cell(places(entry), entry.rank)
    if entry.overall.value is None:
        return _nothing(f"not ranked: {without_score(entry.overall)}")
    if coverage(entry.overall) < COVERED:
        return _nothing(f"not ranked: {percent(1 - coverage(entry.overall), 0)} % of it was left open")
    return _nothing("not ranked: there is no interval")


def brackets(entries: Sequence[BoardEntry]) -> list[tuple[str, ...]]:
    """Return the parts of brackets beside each entry: a bracket holds neighbours that cannot be told apart.

    None stands within another; more than five beside each other are not drawn.
    """
    lanes, reached = [[""] * len(entries) for _ in range(_LANES)], 0
    for place, entry in enumerate(entries):
        end = min(entry.last or 0, len(entries)) - 1 if entry.rank is not None else 0
        if end <= max(place, reached):
            continue
        reached = end
        if lane := next((lane for lane in lanes if not any(lane[place:])), None):
            lane[place : end + 1] = ["start", *["middle"] * (end - place - 1), "end"]
    used = [lane for lane in lanes if any(lane)]
    return list(zip(*used, strict=True)) if used else [()] * len(entries)


def places(entry: BoardEntry) -> str:
    """Return the span of places of a ranked entry as it reads: `3`, or `3–5`."""
    return f"{entry.rank}" if entry.last in (None, entry.rank) else f"{entry.rank}–{entry.last}"


def score_axis(kind: Kind, entries: Sequence[BoardEntry]) -> tuple[float, float]:
    """Return round ends between which lie all main scores with their intervals, as visitors read them."""
    factor, overall = kind.factor, [entry.overall for entry in entries if entry.overall.value is not None]
    values = [factor * end for score in overall for end in (score.value or 0.0, *(score.ci95 or ()))]
    if not values:
        return 0.0, float(factor)
    spread = max(values) - min(values)
    width = max(spread or 10.0, 1.0) if factor == 100 else max(spread, 1e-6)
    step = 10.0 ** floor(log10(width))
    low, high = step * floor(min(values) / step), step * ceil(max(values) / step)
    if high == low:  # one value, at a round number: 50 to 60 for 50, but 90 to 100 for 100
        low, high = (low - step, high) if low == factor == 100 else (low, high + step)
    return round(low, 6), round(high, 6)


def _plots(kind: Kind, group: BoardGroup, board: ShownBoard, selected: str) -> Iterator[Plot]:
    """Yield what can be drawn of a group: score against size and costs, and against the scores that another judge gave.

    The model with the key `selected` is brought out in all of them.
    """
    entries = [entry for entry in group.entries if entry.overall.value is not None]
    costs = {SIZE: {entry.key: size(entry) for entry in entries}}
    for column in kind.groups.get(COST, ()):
        costs[column.title] = {e.key: e.scores[column.name].value for e in entries if column.name in e.scores}
    for title, by_key in costs.items():
        known = {key: cost for key, cost in by_key.items() if cost is not None}
        if len(known) > 1:
            yield _against(kind, entries, known, title, selected)
    data = {entry.data for entry in entries}
    for other in board.ours if len(data) == 1 and data != {""} else ():
        by_name = {entry.name: entry.overall.value for entry in other.entries if entry.data in data}
        both = [(entry, value) for entry in entries if (value := by_name.get(entry.name)) is not None]
        if other is not group and len(both) > 1:
            yield _judges_against_each_other(kind, group, other, both, selected)


def _against(
    kind: Kind, entries: Sequence[BoardEntry], costs: Mapping[str, float], title: str, selected: str
) -> Plot:  # fmt: skip
    """Return scores against what they cost, with the Pareto front: those that no cheaper one beats."""
    drawn = sorted((entry for entry in entries if entry.key in costs), key=lambda entry: costs[entry.key])
    placed = [(entry, costs[entry.key], kind.factor * (entry.overall.value or 0.0)) for entry in drawn]
    low, high = min(costs.values()), max(costs.values())
    wide = low > 0 and high > 10 * low
    x = Axis(title, low / 1.2, 1.2 * high, log=True) if wide else Axis(title, 0.0, 1.1 * high or 1.0)
    y = Axis(kind.unit, *score_axis(kind, entries))
    best = list[tuple[float, float, float, str]]()
    named = [(x.share(across), y.share(score)) for entry, across, score in placed if entry.key == selected]
    for entry, across, score in placed:
        if not best or score > best[-1][1]:
            place = x.share(across), y.share(score)
            has_room = all(abs(place[0] - other[0]) > 0.25 or abs(place[1] - other[1]) > 0.04 for other in named)
            if is_named := has_room and entry.key != selected:
                named.append(place)
            best.append((across, score, 0.0, words.model(entry.name) if is_named else ""))
    dots = _dots([(e, x, score, f"{words.model(e.name)}: {score:.1f} at {x:g}") for e, x, score in placed], selected)
    line = [Series("Pareto front", tuple(best), joined=True, named=True)] if len(best) > 1 else []
    return Plot(f"{kind.main} and {title[:1].lower()}{title[1:]}", (*dots, *line), x, y)


def _judges_against_each_other(
    kind: Kind, group: BoardGroup, other: BoardGroup, both: Sequence[tuple[BoardEntry, float]], selected: str
) -> Plot:
    """Return the scores of the same models on the same data by two judges: on the diagonal they agree."""
    placed = [(entry, kind.factor * (entry.overall.value or 0.0), kind.factor * value) for entry, value in both]
    values = [score for _, *scores in placed for score in scores]
    low, high = 10.0 * floor(min(values) / 10), 10.0 * ceil(max(values) / 10) or 1.0
    x, y = (Axis(words.fact("Judge", part.entries[0].facts.get("Judge", "")), low, high) for part in (group, other))
    dots = _dots([(entry, across, up, words.model(entry.name)) for entry, across, up in placed], selected)
    return Plot("Two judges on the same models", tuple(dots), x, y, diagonal=True)


def _dots(placed: Sequence[tuple[BoardEntry, float, float, str]], selected: str) -> list[Series]:
    """Return models as dots, each with its place and a text; the selected one is brought out."""
    points = [(entry, (x, y, 0.4, text)) for entry, x, y, text in placed]
    own = [Series(words.model(e.name), (point,), brought_out=True) for e, point in points if e.key == selected]
    return [Series("Models", tuple(point for entry, point in points if entry.key != selected)), *own]
