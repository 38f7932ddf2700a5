"""The page of a model: how it does, where it departs from the field, what it misses most, and where else it was measured."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from statistics import fmean
from typing import Any

from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import UNKNOWN, Kind
from truebench_hf.errors import UserError
from truebench_hf.report.sections import percent, points
from truebench_hf.results.folder import Results
from truebench_hf.space.board import boards, words
from truebench_hf.space.board.boards import BoardGroup, ShownBoard
from truebench_hf.space.board.items import Story
from truebench_hf.space.board.leaderboard import FEW, places, without_score
from truebench_hf.space.board.store import Snapshot
from truebench_hf.space.pages import address
from truebench_hf.study.ranking import COST
from truebench_hf.text.terminal import how_many

_DEVIATIONS = 2
_FIELD = 3  # models, at least, that a model is compared with
_HUB = re.compile(r"(?:hf:|vllm:)([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@[\w./-]+)?\Z")
_Pairs = tuple[tuple[str, str], ...]


def place(snapshot: Snapshot, key: str) -> tuple[ShownBoard, BoardGroup, BoardEntry] | None:
    """Return where a result stands; None where it is on no board, or no longer."""
    return next((where for where in _places(snapshot) if where[2].key == key), None)


def _places(snapshot: Snapshot) -> Iterator[tuple[ShownBoard, BoardGroup, BoardEntry]]:
    for board in boards.boards(snapshot):
        for group in board.groups:
            yield from ((board, group, entry) for entry in group.entries)


def page(snapshot: Snapshot, key: str, story: Story | None) -> dict[str, Any] | None:
    """Return what the template draws of a result; `story` is None where there are no judgments to tell by.

    `against` and `missed` are titles with lines; `alone` and `missing` are why there are no more.
    """
    where = place(snapshot, key)
    if where is None:
        return None
    board, group, entry = where
    kind, overall, summary = board.kind, entry.overall, f"No score: {without_score(entry.overall)}."
    if overall.value is not None:
        number = f" over {how_many(overall.n, kind.noun)}" if overall.n else ""
        rank = f"rank {places(entry)} of {sum(other.rank is not None for other in group.entries)}"
        if len(group.entries) == 1 or entry.rank is None:
            rank = "not ranked"
        sure = " ({:.1f} to {:.1f})".format(*(kind.factor * end for end in overall.ci95)) if overall.ci95 else ""
        summary = f"{kind.unit}: {score(kind, entry)}{sure}{number}, {rank}"
    missing = ""
    if entry.source == "paper":
        missing = "The paper prints scores only: answers, verdicts and the criteria that were missed are not published."
    elif story is None:
        missing = "This result came without verdicts on single criteria."
        missing += " The explorer has its conversations." if entry.folder else ""
    elif not story.examples:
        missing = "No criterion was missed." if any(story.decided.values()) else "No criterion was decided."
    alone = f"It departs from the others in no column that stands on {FEW} {kind.noun}s or more."
    if len(_field(group, entry)) < _FIELD:
        alone = f"It is compared with others where there are at least {_FIELD}."
    hub = _HUB.fullmatch(entry.name)
    return {
        "name": words.model(entry.name), "entry": entry, "board": board, "group": group, "summary": summary,
        "unscored": f"{how_many(overall.unscored, kind.noun)} left open: no verdict could be had" if overall.unscored else "",
        "trust": boards.judge_trust(snapshot, group), "facts": list(_facts(kind, entry)), "hub_page": hub[1] if hub else "",
        "against": list(_against(kind, group, entry)), "alone": alone, "missing": missing,
        "missed": list(_missed(story, kind)) if story else [], "examples": story.examples if story else (),
        "others": list(_others(snapshot, entry)), "is_judge": kind.name == JUDGES,
    }  # fmt: skip


def score(kind: Kind, entry: BoardEntry) -> str:
    """Return the main score as it reads."""
    return "–" if entry.overall.value is None else f"{kind.factor * entry.overall.value:.1f}"


def _facts(kind: Kind, entry: BoardEntry) -> Iterator[tuple[str, str]]:
    """Yield the facts that are known, what it cost, and when it was measured."""
    for name, text in entry.facts.items():
        if text != UNKNOWN:
            yield name, words.fact(name, text)
    for column in kind.groups.get(COST, ()):
        if (cost := entry.scores.get(column.name)) is not None and cost.value is not None:
            yield column.title, f"{cost.value:,.4g}"
    if day := _day(entry):
        yield "Measured on", day


def _day(entry: BoardEntry) -> str:
    """Return the day on which the run of an entry ended, as its folder says; "" where it says none."""
    with suppress(UserError, OSError, LookupError, TypeError, AttributeError, RecursionError):
        if entry.folder is not None:
            day = re.match(r"\d{4}-\d\d-\d\d", Results.open(entry.folder).info["sessions"][-1]["finished"])
            return day[0] if day else ""
    return ""


def _others(snapshot: Snapshot, entry: BoardEntry) -> Iterator[tuple[str, str, str, str]]:
    """Yield address, heading, score and day of the other results of the same name, in the order of the boards."""
    for board, group, other in _places(snapshot):
        if other.key != entry.key and words.model(other.name) == words.model(entry.name):
            yield address("model", model=other.key), boards.named(board, group), score(board.kind, other), _day(other)


def _against(kind: Kind, group: BoardGroup, entry: BoardEntry) -> Iterator[tuple[str, _Pairs]]:
    """Yield where a model departs most from the field, beyond what its overall score leads one to expect.

    Columns count where the model and most of the field stand on at least FEW tasks, or on a number that nobody tells.
    """

    def solid(other: BoardEntry, name: str) -> float | None:
        known = other.scores.get(name)
        return None if known is None or 0 < known.n < FEW else known.value

    field = _field(group, entry)
    if entry.overall.value is None or len(field) < _FIELD:
        return
    level = entry.overall.value - fmean(other.overall.value or 0.0 for other in field)
    departures: list[tuple[float, str, str]] = []
    headers = {name: header for header, name in kind.scores.items()}
    for column in (column for columns in kind.groups.values() for column in columns if column.percent):
        own, others = solid(entry, column.name), [solid(other, column.name) for other in field]
        known = [value for value in others if value is not None]
        if own is not None and 2 * len(known) >= len(field):
            departure = own - fmean(known) - level
            name = words.column(headers[column.name])
            departures.append((departure, name, f"{percent(own, 0)} % ({points(departure, 0)})"))
    departures.sort(key=lambda departure: departure[0])
    better = [line for line in reversed(departures[-_DEVIATIONS:]) if line[0] > 0]
    worse = [line for line in departures[:_DEVIATIONS] if line[0] < 0]
    for title, lines in (("Better than its score suggests", better), ("Worse than its score suggests", worse)):
        if lines:
            yield title, tuple((name, text) for _, name, text in lines)


def _field(group: BoardGroup, entry: BoardEntry) -> list[BoardEntry]:
    """Return the other results of a group that have a score."""
    return [other for other in group.entries if other.overall.value is not None and other is not entry]


def _missed(story: Story, board: Kind) -> Iterator[tuple[str, _Pairs]]:
    """Yield by type of criteria, the most missed first, the share missed and the criteria missed most."""
    wrong = "decided wrongly" if board.name == JUDGES else "missed"
    for kind in sorted(story.missed, key=lambda kind: -story.missed[kind])[:4]:
        lost, decided = story.missed[kind], story.decided[kind]
        title = f"{kind.replace('_', ' ').capitalize() if kind else 'Criteria'}: {lost:,} of {decided:,} {wrong}"
        yield title, tuple((text, f"{count:,}×") for text, count in story.most[kind] if count > 1)
