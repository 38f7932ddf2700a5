"""A model of the leaderboard, opened: how it does, where it departs from the field, and what it misses most."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from truebench_hf.comparing.runs import BoardEntry
from truebench_hf.comparing.table import UNKNOWN, Kind
from truebench_hf.report.sections import percent, points
from truebench_hf.space.board import words
from truebench_hf.space.board.boards import BoardGroup
from truebench_hf.space.board.figures import FEW
from truebench_hf.space.board.items import Example, Story
from truebench_hf.space.board.page import places

_DEVIATIONS = 2
_FIELD = 3  # models, at least, that a model is compared with
_HUB = re.compile(r"(?:hf:|vllm:)([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@[\w./-]+)?\Z")
_Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class OpenedModel:
    """What the template draws. `against` and `missed` are titles with lines; `missing` is why there is no more."""

    key: str
    name: str
    summary: str
    unscored: str
    facts: _Pairs
    page: str
    explorable: bool
    against: tuple[tuple[str, _Pairs], ...]
    missing: str
    missed: tuple[tuple[str, _Pairs], ...]
    examples: tuple[Example, ...]


def opened(kind: Kind, group: BoardGroup, entry: BoardEntry, story: Story | None) -> OpenedModel:
    """All of one entry of a group; `story` is None where there are no judgments to tell by."""
    score, summary = entry.overall, "Nothing was decided."
    if score.value is not None:
        number = f" over {words.counted(score.n, kind.noun)}" if score.n else ""
        rank = f"rank {places(entry)} of {sum(e.rank is not None for e in group.entries)}"
        if len(group.entries) == 1 or entry.rank is None:
            rank = "not ranked"
        summary = f"{kind.unit}: {kind.factor * score.value:.1f}{number}, {rank}"
    missing = ""
    if entry.source == "paper":
        missing = "The paper prints scores only: answers, verdicts and the criteria that were missed are not published."
    elif story is None:
        missing = "This result came without its conversations."
    elif not story.examples:
        missing = "No criterion was missed." if any(story.decided.values()) else "No criterion was decided."
    hub, left = _HUB.fullmatch(entry.name), score.unscored
    return OpenedModel(
        entry.key, words.model(entry.name), summary,
        f"{words.counted(left, kind.noun)} left open: no verdict could be had" if left else "",
        tuple((name, words.fact(name, text)) for name, text in entry.facts.items() if text != UNKNOWN),
        hub[1] if hub else "", entry.folder is not None, tuple(_against(kind, group, entry)), missing,
        tuple(_missed(story)) if story else (), story.examples if story else (),
    )  # fmt: skip


def _against(kind: Kind, group: BoardGroup, entry: BoardEntry) -> Iterator[tuple[str, _Pairs]]:
    """Where a model departs most from the field, beyond what its overall score leads one to expect.

    Columns count where the model and most of the field stand on at least FEW tasks, or on a number that nobody tells.
    """

    def solid(other: BoardEntry, name: str) -> float | None:
        score = other.scores.get(name)
        return None if score is None or 0 < score.n < FEW else score.value

    field = [other for other in group.entries if other.overall.value is not None and other is not entry]
    if entry.overall.value is None or len(field) < _FIELD:
        return
    level = entry.overall.value - fmean(other.overall.value or 0.0 for other in field)
    departures: list[tuple[float, str, str]] = []
    headers = {name: header for header, name in kind.scores.items()}
    for column in (column for columns in kind.groups.values() for column in columns):
        own, others = solid(entry, column.name), [solid(other, column.name) for other in field]
        known = [value for value in others if value is not None]
        if column.percent and own is not None and 2 * len(known) >= len(field):
            departure = own - fmean(known) - level
            departures.append(
                (departure, words.column(headers[column.name]), f"{percent(own, 0)} % ({points(departure, 0)})")
            )
    departures.sort(key=lambda departure: departure[0])
    better = [line for line in reversed(departures[-_DEVIATIONS:]) if line[0] > 0]
    worse = [line for line in departures[:_DEVIATIONS] if line[0] < 0]
    for title, lines in (("Better than its score suggests", better), ("Worse than its score suggests", worse)):
        if lines:
            yield title, tuple((name, text) for _, name, text in lines)


def _missed(story: Story) -> Iterator[tuple[str, _Pairs]]:
    """By type of criteria, the most missed first: the share missed, and the criteria missed most."""
    for kind in sorted(story.missed, key=lambda kind: -story.missed[kind])[:4]:
        lost, decided = story.missed[kind], story.decided[kind]
        title = f"{kind.replace('_', ' ').capitalize() if kind else 'Criteria'}: {lost:,} of {decided:,} missed"
        yield title, tuple((text, f"{count:,}×") for text, count in story.most[kind] if count > 1)
