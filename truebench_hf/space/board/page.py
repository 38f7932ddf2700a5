"""One board as a page shows it: what can be chosen, a table of one group, and the other groups."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import COVERED, MISPRINT, SIZE, UNKNOWN, Kind, coverage, size
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.asked import Asked
from truebench_hf.space.board.boards import BoardGroup, JudgeTrust, OneBoard
from truebench_hf.space.board.figures import FEW, Bar, Cell, DrawnAxis, bar, decided, ends_text
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
    """The header of a column: its id in addresses, its name, whether a text is read in it, and a line on what it is."""

    id: str
    name: str
    prose: bool = False
    about: str = ""


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
    """What the template draws. `lead` says who leads, `sides` are our results and the published ones where there are both.

    `others` are the further groups of this side, folded, under their headings.
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
    approximate: bool
    others: Mapping[str, Sequence[BoardGroup]]
    stale: str
    version: int


def page(snapshot: Snapshot, asked: Asked) -> Page:
    """The page that is asked for, or what comes nearest to it."""
    all_boards, board, group = found(snapshot, asked)
    entries = group.entries if group else ()
    views = _views(board.kind, entries)
    view = asked.view if asked.view in views else views[0]
    others: dict[str, list[BoardGroup]] = {}
    for other in board.groups:
        if group and other is not group and (other.what == "paper") == (group.what == "paper"):
            others.setdefault(boards.HEADINGS[other.what], []).append(other)
    return Page(
        all_boards, board, group, views, view, boards.heading(group) if group else "",
        boards.lead(group) if group else "", _sides(board, group), tuple(_facts(snapshot, board, group)) if group else (), table(board.kind, group, view),
        any(e.approximate for e in entries), others, snapshot.stale, snapshot.version,
    )  # fmt: skip


def _sides(board: OneBoard, group: BoardGroup | None) -> tuple[tuple[str, str, bool], ...]:
    """Our results and the published ones: name, id of the first group, whether it is shown."""
    if not (board.ours and board.published and group):
        return ()
    published = group.what == "paper"
    return ("Yours", board.ours[0].id, not published), ("Published", board.published[0].id, published)


def found(snapshot: Snapshot, asked: Asked) -> tuple[tuple[OneBoard, ...], OneBoard, BoardGroup | None]:
    """All boards, and the board and group that are asked for, or else the first."""
    all_boards = boards.boards(snapshot)
    board = next((board for board in all_boards if board.id == asked.board), all_boards[0])
    return all_boards, board, board.group(asked.group)


def table(kind: Kind, group: BoardGroup | None, view: str) -> PageTable:
    """The table of a group with the columns of a view."""
    if group is None:
        return PageTable((), ())
    heads = tuple(_heads(kind, group.entries, view))
    axis = score_axis(kind, group.entries)
    spreads = {head.id: spread for head in heads if (spread := _spread(kind, group.entries, head))}
    also = boards.differing(group)
    rows = tuple(
        PageRow(
            e.key, words.model(e.name), also.get(e.key, ""), " ".join((e.name, *e.facts.values())), *_rank(group, e),
            score_bar(kind, e.overall, axis), tuple(_cell(kind, e, head, spreads.get(head.id)) for head in heads),
            e.folder is not None,
        )
        for e in group.entries
    )  # fmt: skip
    return PageTable(heads, rows, axis.text)


def score_axis(kind: Kind, entries: Sequence[BoardEntry]) -> DrawnAxis:
    """Return an axis with round ends that holds all scores of the main column with their intervals."""
    factor = kind.factor(kind.main)
    ends = [
        factor * end
        for entry in entries
        if entry.overall.value is not None
        for end in (entry.overall.value, *(entry.overall.ci95 or ()))
    ]
    if not ends:
        return DrawnAxis(0.0, 100.0 if factor == 100 else 1.0)
    width = max(max(ends) - min(ends), 1.0 if factor == 100 else 1e-6)
    step = 10.0 ** floor(log10(width))
    low, high = step * floor(min(ends) / step), step * ceil(max(ends) / step)
    return DrawnAxis(round(low, 6), round(high if high > low else low + step, 6))


def _spread(kind: Kind, entries: Sequence[BoardEntry], head: ColumnHead) -> tuple[float, float] | None:
    """The mean of a column of shares and what is its deepest tint: the largest distance, or 10 points; None of others."""
    percent = head.id in kind.column and kind.column[head.id].percent
    values = [
        score.value for entry in entries if (score := entry.scores.get(head.id)) is not None and score.value is not None
    ]
    if not percent or not values:
        return None
    mean = sum(values) / len(values)
    return mean, max(0.1, *(abs(value - mean) for value in values))


def _views(kind: Kind, entries: Sequence[BoardEntry]) -> tuple[str, ...]:
    """The groups of columns in which something stands, facts, and charts."""
    there = {name for entry in entries for name, score in entry.scores.items() if score.value is not None}
    shown = [name for name, heads in kind.groups.items() if any(kind.scores[head] in there for head in heads)]
    return (*shown, ABOUT, CHART)


def _heads(kind: Kind, entries: Sequence[BoardEntry], view: str) -> Iterator[ColumnHead]:
    there = {name for entry in entries for name in entry.scores}
    if view in kind.groups:
        columns = (kind.column[kind.scores[header]] for header in kind.groups[view] if kind.scores[header] in there)
        yield from (ColumnHead(column.name, words.column(column.title), about=column.about) for column in columns)
        if any(coverage(e.overall) < 1 for e in entries):
            yield ColumnHead("coverage", "Decided")
        return
    yield ColumnHead("coverage", "Decided")
    yield ColumnHead("n", f"{kind.noun}s".capitalize())
    grouped = {head for heads in kind.groups.values() for head in heads}
    yield from (
        ColumnHead(name, head) for head, name in list(kind.scores.items())[1:] if head not in grouped and name in there
    )
    for fact in kind.facts:
        said = {entry.facts.get(fact) for entry in entries}
        if said != {None} and (len(said) > 1 or fact not in boards.IN_HEADING):
            yield ColumnHead(f"fact:{fact}", fact, prose=fact != SIZE)


def _cell(kind: Kind, entry: BoardEntry, head: ColumnHead, spread: tuple[float, float] | None = None) -> Cell:
    if head.id.startswith("fact:"):
        return _fact(entry, head.id.removeprefix("fact:"))
    told = entry.overall.n + entry.overall.unscored > 0
    if head.id == "n":
        return Cell(f"{entry.overall.n:,}", entry.overall.n) if told else Cell("–", None, "not told in the paper")
    if head.id == "coverage":
        if not told or entry.source == "paper":
            return Cell("–", None, "not told in the paper" if entry.source == "paper" else "nothing was judged")
        return decided(entry.overall)
    score = entry.scores.get(head.id)
    if score is None or score.value is None:
        left = f"{score.unscored:,} left open, none decided" if score and score.unscored else ""
        return Cell("–", None, left or ("not published" if entry.source == "paper" else "not in the data of this run"))
    return _score(kind, entry, head, score, score.value, spread)


def _score(
    kind: Kind, entry: BoardEntry, head: ColumnHead, score: Score, share: float, spread: tuple[float, float] | None
) -> Cell:
    percent = kind.column[head.id].percent
    value = 100 * share if percent else share
    mark = MISPRINT if head.id in entry.misprints else ""
    parts = [f"{head.name}: {value:.1f}"]
    parts += [f"{score.n:,} decided"] if score.n else []
    parts += [f"95 %: {ends_text(score.ci95, 100 if percent else 1)}"] if score.ci95 else []
    parts += [f"{score.unscored:,} left open"] if score.unscored else []
    parts += ["as printed: the paper contradicts itself here"] if mark else []
    tint = round(100 * (share - spread[0]) / spread[1]) if spread else None
    parts += [f"{100 * (share - spread[0]):+.1f} points against the mean of the column"] if spread else []
    return Cell(
        f"{value:.0f}{mark}" if percent else f"{value:.1f}{mark}",
        round(value, 3),
        ", ".join(parts),
        tint,
        0 < score.n < FEW,
    )


def _fact(entry: BoardEntry, fact: str) -> Cell:
    said = entry.facts.get(fact, "")
    if fact == SIZE:
        known = size(entry)
        return Cell("–", None, "not known") if known is None else Cell(f"{known:g}", known)
    said = words.fact(fact, said)
    return Cell(said, said.casefold()) if said and said != UNKNOWN else Cell("–", None, "not known")


def _rank(group: BoardGroup, entry: BoardEntry) -> tuple[str, str]:
    """The span of places, or a dash with the reason."""
    if len(group.entries) == 1:
        return "–", "the only result of its kind: nothing to rank it among"
    if entry.rank is not None:
        return places(entry), ""
    if entry.overall.value is None:
        return "–", "not ranked: nothing was decided"
    if coverage(entry.overall) < COVERED:
        return "–", f"not ranked: {100 - 100 * coverage(entry.overall):.0f} % of it was left open"
    return "–", "not ranked: there is no interval"


def places(entry: BoardEntry) -> str:
    """Return the span of places of a ranked entry as it reads: `3`, or `3–5`."""
    return f"{entry.rank}" if entry.last in (None, entry.rank) else f"{entry.rank}–{entry.last}"


def score_bar(kind: Kind, score: Score, axis: DrawnAxis) -> Bar:
    """Return the dot of a main score with its interval on an axis."""
    return bar(score, axis, kind.noun, "nothing was decided", factor=kind.factor(kind.main), dot=True)


def _facts(snapshot: Snapshot, board: OneBoard, group: BoardGroup) -> Iterator[Fact]:
    """What stands in the line above the table."""
    columns = {name for entry in group.entries for name in entry.scores}
    for name in ("Languages", "Categories"):
        count = sum(board.kind.scores[head] in columns for head in board.kind.groups.get(name, ()))
        if count > 1:
            yield Fact(str(count), after=name.lower())
    yield Fact(str(len(group.entries)), after=_counted(board.kind, len(group.entries)))
    if trust := boards.judge_trust(snapshot, group):
        yield _trust_words(trust)
    elif "Judge" in group.entries[0].facts:
        yield Fact(before="how far the judge can be trusted was not measured here", trust=True)
    if snapshot.read_at:
        yield Fact(time.strftime("%H:%M UTC", time.gmtime(snapshot.read_at)), before="as of")


def _counted(kind: Kind, count: int) -> str:
    """What the rows of a board are: models, or judges."""
    noun = "judge" if kind.name == JUDGES else "model"
    return noun if count == 1 else f"{noun}s"


def _trust_words(trust: JudgeTrust) -> Fact:
    """The judge's balanced accuracy with its interval, what it was measured on, and a warning where that is chance."""
    score = trust.score
    interval = f"({ends_text(score.ci95, 100)})" if score.ci95 else "(no interval)"
    on = f"on {words.counted(score.n, 'rubric')} of {trust.where}" if score.n else f"of {trust.where}"
    asked_as = f", asked by {trust.how}" if trust.how else ""
    other = "" if trust.same_way else ", another way than here"
    chance = ": no better than guessing, which gets 50" if trust.is_chance else "; guessing gets 50"
    figure = f"{100 * (score.value or 0):.1f} %"
    return Fact(figure, "judge: balanced accuracy", f"{interval} {on}{asked_as}{other}{chance}", True, trust.is_chance)
