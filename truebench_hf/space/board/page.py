"""One board as a page shows it: what can be chosen, a table of one group, and the other groups."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import Entry
from truebench_hf.comparing.table import COVERED, MISPRINT, SIZE, UNKNOWN, Kind, coverage, size
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.asked import Asked
from truebench_hf.space.board.boards import Group, OneBoard
from truebench_hf.space.board.store import Example, Snapshot, Story
from truebench_hf.types import Score

CHART, ABOUT = "Chart", "About"
FEW = 30  # below so many instances a cell is shown pale: its interval is wider than most differences


@dataclass(frozen=True, slots=True)
class Cell:
    """What stands in a cell: a text, a number to sort by (None: nothing is there, and `why`), and 0 to 100 for a tint."""

    text: str
    sort: float | str | None
    why: str = ""
    tint: int | None = None
    few: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """A score with its interval, all in percent of the scale, beside its figure."""

    text: str
    sort: float | None
    width: float = 0.0
    low: float | None = None
    high: float | None = None
    why: str = ""
    few: bool = False


@dataclass(frozen=True)
class Head:
    """The header of a column: its id in addresses, its name, and what is read as a number or a text."""

    id: str
    name: str
    prose: bool = False


@dataclass(frozen=True)
class Row:
    """A line: `also` tells it from others of its name, `search` is what it is found by beside its name."""

    key: str
    name: str
    also: str
    search: str
    rank: str
    rank_why: str
    bar: Bar
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """The rows of a group under their headers."""

    heads: tuple[Head, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Page:
    """What the template draws. `others` are the groups that are folded, under their headings."""

    boards: tuple[OneBoard, ...]
    board: OneBoard
    group: Group | None
    views: tuple[str, ...]
    view: str
    heading: str
    facts: tuple[tuple[str, str, str], ...]
    table: Table
    approximate: bool
    others: Mapping[str, Sequence[Group]]
    stale: str
    version: int


def page(snapshot: Snapshot, asked: Asked) -> Page:
    """The page that is asked for, or what comes nearest to it."""
    every, board, group = found(snapshot, asked)
    entries = group.entries if group else ()
    views = _views(board.kind, entries)
    view = asked.view if asked.view in views else views[0]
    others: dict[str, list[Group]] = {}
    for other in board.groups:
        if other is not group:
            others.setdefault(boards.HEADINGS[other.what], []).append(other)
    return Page(
        every, board, group, views, view, boards.heading(group) if group else "",
        tuple(_facts(snapshot, board, group)) if group else (), table(board.kind, group, view),
        any(e.approximate for e in entries), others, snapshot.stale, snapshot.version,
    )  # fmt: skip


def found(snapshot: Snapshot, asked: Asked) -> tuple[tuple[OneBoard, ...], OneBoard, Group | None]:
    """All boards, and the board and group that are asked for, or else that of own data, or the first."""
    every = boards.boards(snapshot)
    by_id = {one.id: one for one in every}
    board = by_id.get(asked.board) or by_id.get(boards.OWN) or every[0]
    return every, board, board.group(asked.group)


def table(kind: Kind, group: Group | None, view: str) -> Table:
    """The table of a group with the columns of a view."""
    if group is None:
        return Table((), ())
    heads = tuple(_heads(kind, group.entries, view))
    full = _scale(kind, group.entries)
    also = boards.differing(group)
    rows = tuple(
        Row(
            e.key, words.model(e.name), also.get(e.key, ""), " ".join((e.name, *e.facts.values())), *_rank(group, e),
            _bar(kind, e.overall, full), tuple(_cell(kind, e, head) for head in heads),
        )
        for e in group.entries
    )  # fmt: skip
    return Table(heads, rows)


def _views(kind: Kind, entries: Sequence[Entry]) -> tuple[str, ...]:
    """The groups of columns in which something stands, facts, and charts."""
    there = {name for entry in entries for name, score in entry.scores.items() if score.value is not None}
    shown = [name for name, heads in kind.groups.items() if any(kind.scores[head] in there for head in heads)]
    return (*shown, ABOUT, CHART)


def _heads(kind: Kind, entries: Sequence[Entry], view: str) -> Iterator[Head]:
    there = {name for entry in entries for name in entry.scores}
    if view in kind.groups:
        bare = {h: h.removesuffix(f" ({view})") for h in kind.groups[view] if kind.scores[h] in there}
        yield from (Head(kind.scores[h], words.column(name)) for h, name in bare.items())
        if any(coverage(e.overall) < 1 for e in entries):
            yield Head("coverage", "Decided")
        return
    yield Head("coverage", "Decided")
    yield Head("n", words.tasks(kind.name, 0).removeprefix("0 ").capitalize())
    grouped = {head for heads in kind.groups.values() for head in heads}
    yield from (
        Head(name, head) for head, name in list(kind.scores.items())[1:] if head not in grouped and name in there
    )
    for fact in kind.facts:
        said = {entry.facts.get(fact) for entry in entries}
        if said != {None} and (len(said) > 1 or fact not in ("Judge", "Data")):  # those stand in the heading
            yield Head(f"fact:{fact}", fact, prose=fact != SIZE)


def _cell(kind: Kind, entry: Entry, head: Head) -> Cell:
    if head.id.startswith("fact:"):
        return _fact(entry, head.id.removeprefix("fact:"))
    told = entry.overall.n + entry.overall.unscored > 0
    if head.id == "n":
        return Cell(f"{entry.overall.n:,}", entry.overall.n) if told else Cell("–", None, "not told in the paper")
    if head.id == "coverage":
        if not told or entry.source == "paper":
            return Cell("–", None, "not told in the paper" if entry.source == "paper" else "nothing was judged")
        share = coverage(entry.overall)
        return Cell(f"{100 * share:.0f} %", share, f"{entry.overall.unscored:,} left open")
    score = entry.scores.get(head.id)
    if score is None or score.value is None:
        left = f"{score.unscored:,} left open, none decided" if score and score.unscored else ""
        return Cell("–", None, left or ("not published" if entry.source == "paper" else "not in the data of this run"))
    return _score(kind, entry, head, score, score.value)


def _score(kind: Kind, entry: Entry, head: Head, score: Score, share: float) -> Cell:
    percent = next(column.percent for column in kind.columns if column.name == head.id)
    value = 100 * share if percent else share
    mark = MISPRINT if head.id in entry.misprints else ""
    parts = [f"{head.name}: {value:.1f}"]
    parts += [f"{words.tasks(kind.name, score.n)}"] if score.n else []
    parts += [f"95 %: {_ends(score.ci95, 100 if percent else 1)}"] if score.ci95 else []
    parts += [f"{score.unscored:,} left open"] if score.unscored else []
    parts += ["as printed: the paper contradicts itself here"] if mark else []
    tint = round(min(100.0, max(0.0, value))) if percent else None
    return Cell(
        f"{value:.0f}{mark}" if percent else f"{value:.1f}{mark}",
        round(value, 3),
        ", ".join(parts),
        tint,
        0 < score.n < FEW,
    )


def _fact(entry: Entry, fact: str) -> Cell:
    said = entry.facts.get(fact, "")
    if fact == SIZE:
        known = size(entry)
        return Cell("–", None, "not known") if known is None else Cell(f"{known:g}", known)
    said = words.fact(fact, said)
    return Cell(said, said.casefold()) if said and said != UNKNOWN else Cell("–", None, "not known")


def _rank(group: Group, entry: Entry) -> tuple[str, str]:
    """The span of places, or a dash with the reason."""
    if not group.ranked:
        return "–", "not ranked: a run over a part of the data"
    if entry.rank is not None:
        return _places(entry), ""
    if entry.overall.value is None:
        return "–", "not ranked: nothing was decided"
    if coverage(entry.overall) < COVERED:
        return "–", f"not ranked: {100 - 100 * coverage(entry.overall):.0f} % of it was left open"
    return "–", "not ranked: there is no interval"


def _places(entry: Entry) -> str:
    return f"{entry.rank}" if entry.last in (None, entry.rank) else f"{entry.rank}–{entry.last}"


def _bar(kind: Kind, score: Score, full: float) -> Bar:
    if score.value is None:
        return Bar("–", None, why="nothing was decided")
    factor = kind.factor(kind.main)
    value = factor * score.value
    ends = [min(100.0, max(0.0, 100 * factor * end / full)) for end in score.ci95] if score.ci95 and full else None
    why = (
        f"95 %: {_ends(score.ci95, factor)}, {words.tasks(kind.name, score.n)}"
        if score.ci95
        else "no interval is known"
    )
    width = round(min(100.0, max(0.0, 100 * value / full)), 1) if full else 0.0
    low, high = (round(ends[0], 1), round(ends[1], 1)) if ends else (None, None)
    return Bar(f"{value:.1f}", round(value, 4), width, low, high, why)


def _scale(kind: Kind, entries: Sequence[Entry]) -> float:
    """What fills a bar: 100 %, or the greatest end of an interval of what is no share."""
    if kind.factor(kind.main) == 100:
        return 100.0
    ends = [max(e.overall.value, *(e.overall.ci95 or (0.0,))) for e in entries if e.overall.value is not None]
    return max(ends, default=0.0)


def _ends(interval: tuple[float, float], factor: int) -> str:
    return f"{factor * interval[0]:.1f} to {factor * interval[1]:.1f}"


def _facts(snapshot: Snapshot, board: OneBoard, group: Group) -> Iterator[tuple[str, str, str]]:
    """What stands in the line above the table: words, a number, words."""
    there = {name for entry in group.entries for name in entry.scores}
    for name in ("Languages", "Categories"):
        count = sum(board.kind.scores[head] in there for head in board.kind.groups.get(name, ()))
        if count > 1:
            yield "", str(count), name.lower()
    yield "", str(len(group.entries)), "results" if len(group.entries) != 1 else "result"
    if found := boards.judge_accuracy(snapshot, group):
        score, where = found
        yield "judge right on", f"{100 * (score.value or 0):.1f} %", f"of rubrics ({where})"
    elif "Judge" in group.entries[0].facts:
        yield "how often the judge is right was not measured here", "", ""
    if snapshot.read_at:
        yield "as of", time.strftime("%H:%M UTC", time.gmtime(snapshot.read_at)), ""


_WEAKEST = 4
_RIVALS = 60
_HUB = re.compile(r"(?:hf:|vllm:)([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@[\w./-]+)?\Z")


@dataclass(frozen=True)
class Told:
    """What the template draws. `weakest` and `missed` are titles with lines; `missing` is why there is no more."""

    key: str
    name: str
    summary: str
    unscored: str
    facts: tuple[tuple[str, str], ...]
    page: str
    explorable: bool
    rivals: tuple[tuple[str, str], ...]
    weakest: tuple[tuple[str, tuple[tuple[str, str, bool], ...]], ...]
    missing: str
    missed: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    examples: tuple[Example, ...]


def told(kind: Kind, group: Group, entry: Entry, story: Story | None) -> Told:
    """All of one entry of a group; `story` is None where there are no judgments to tell by."""
    left = entry.overall.unscored
    facts = [(name, words.fact(name, said)) for name, said in entry.facts.items() if said != UNKNOWN]
    hub = _HUB.fullmatch(entry.name)
    there = entry.folder is not None and kind.name != JUDGES  # what judges said of rubrics is no conversation
    rivals = [(e.key, words.model(e.name)) for e in group.entries if there and e.folder and e.key != entry.key]
    return Told(
        entry.key, words.model(entry.name), _summary(kind, group, entry),
        f"{words.tasks(kind.name, left)} left open: no verdict could be had" if left else "", tuple(facts),
        hub[1] if hub else "", there, tuple(rivals[:_RIVALS]), tuple(_weakest(kind, entry)),
        _missing(entry, story), tuple(_missed(story)) if story else (),
        story.examples if story else (),
    )  # fmt: skip


def _summary(kind: Kind, group: Group, entry: Entry) -> str:
    value = entry.overall.value
    if value is None:
        return "Nothing was decided."
    share = f"{kind.factor(kind.main) * value:.1f}"
    of = f" over {words.tasks(kind.name, entry.overall.n)}" if entry.overall.n else ""
    if not group.ranked or entry.rank is None:
        return f"{kind.unit}: {share}{of}, not ranked"
    return f"{kind.unit}: {share}{of}, rank {_places(entry)} of {sum(e.rank is not None for e in group.entries)}"


def _weakest(kind: Kind, entry: Entry) -> Iterator[tuple[str, tuple[tuple[str, str, bool], ...]]]:
    """By group of columns the lowest shares; those over few instances come last."""
    percent = {column.name for column in kind.columns if column.percent}
    for title, heads in kind.groups.items():
        found = [
            (score.value, words.column(head), 0 < score.n < FEW)
            for head in heads
            if kind.scores[head] in percent
            and (score := entry.scores.get(kind.scores[head]))
            and score.value is not None
        ]
        if len(found) > 1:
            lines = sorted(found, key=lambda one: (one[2], one[0]))[:_WEAKEST]
            yield f"Weakest {title.lower()}", tuple((name, f"{100 * value:.0f} %", few) for value, name, few in lines)


def _missing(entry: Entry, story: Story | None) -> str:
    if entry.source == "paper":
        return "The paper prints scores only: answers, verdicts and the criteria that were missed are not published."
    if story is None:
        return "This result came without its conversations."
    if not any(story.decided.values()):
        return "No criterion was decided."
    return "" if story.examples else "No criterion was missed."


def _missed(story: Story) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """By type of criteria, the most missed first: the share missed, and the criteria missed most."""
    kinds = sorted(story.missed, key=lambda kind: -story.missed[kind])
    for kind in kinds[:4]:
        lost, decided = story.missed[kind], story.decided[kind]
        title = f"{kind.replace('_', ' ').capitalize() if kind else 'Criteria'}: {lost:,} of {decided:,} missed"
        yield title, tuple((text, f"{count:,}×") for text, count in story.most[kind] if count > 1)
