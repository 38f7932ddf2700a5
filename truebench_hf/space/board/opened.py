"""A model of the leaderboard, opened: how it does, where it departs from the field, and what it misses most."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Told:
    """What the template draws. `against` and `missed` are titles with lines; `missing` is why there is no more."""

    key: str
    name: str
    summary: str
    unscored: str
    facts: tuple[tuple[str, str], ...]
    page: str
    explorable: bool
    against: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    missing: str
    missed: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    examples: tuple[Example, ...]


def told(kind: Kind, group: BoardGroup, entry: BoardEntry, story: Story | None) -> Told:
    """All of one entry of a group; `story` is None where there are no judgments to tell by."""
    left = entry.overall.unscored
    facts = [(name, words.fact(name, said)) for name, said in entry.facts.items() if said != UNKNOWN]
    hub = _HUB.fullmatch(entry.name)
    return Told(
        entry.key, words.model(entry.name), _summary(kind, group, entry),
        f"{words.counted(left, kind.noun)} left open: no verdict could be had" if left else "", tuple(facts),
        hub[1] if hub else "", entry.folder is not None, tuple(_against(kind, group, entry)),
        _missing(entry, story), tuple(_missed(story)) if story else (),
        story.examples if story else (),
    )  # fmt: skip


def _summary(kind: Kind, group: BoardGroup, entry: BoardEntry) -> str:
    value = entry.overall.value
    if value is None:
        return "Nothing was decided."
    share = f"{kind.factor(kind.main) * value:.1f}"
    of = f" over {words.counted(entry.overall.n, kind.noun)}" if entry.overall.n else ""
    if len(group.entries) == 1 or entry.rank is None:
        return f"{kind.unit}: {share}{of}, not ranked"
    return f"{kind.unit}: {share}{of}, rank {places(entry)} of {sum(e.rank is not None for e in group.entries)}"


def _against(kind: Kind, group: BoardGroup, entry: BoardEntry) -> Iterator[tuple[str, tuple[tuple[str, str], ...]]]:
    """Where a model departs most from the field, beyond what its overall score leads one to expect.

    Columns count where the model and most of the field stand on at least FEW tasks.
    """
    field = [other for other in group.entries if other.overall.value is not None and other is not entry]
    if entry.overall.value is None or len(field) < _FIELD:
        return
    level = entry.overall.value - _mean([other.overall.value or 0.0 for other in field])
    shares = {column.name for column in kind.columns if column.percent}
    found: list[tuple[float, str, str]] = []
    for head in (head for heads in kind.groups.values() for head in heads):
        score = entry.scores.get(kind.scores[head])
        others = [value for other in field if (value := _solid(other, kind.scores[head])) is not None]
        own = _solid(entry, kind.scores[head])
        if kind.scores[head] not in shares or own is None or score is None or 2 * len(others) < len(field):
            continue
        departure = own - _mean(others) - level
        found.append((departure, words.column(head), f"{percent(own, 0)} % ({points(departure, 0)})"))
    found.sort(key=lambda departure: departure[0])
    better = [line for line in reversed(found[-_DEVIATIONS:]) if line[0] > 0]
    worse = [line for line in found[:_DEVIATIONS] if line[0] < 0]
    for title, lines in (("Better than its score suggests", better), ("Worse than its score suggests", worse)):
        if lines:
            yield title, tuple((name, text) for _, name, text in lines)


def _solid(entry: BoardEntry, column: str) -> float | None:
    """The share of a column that stands on enough tasks, or on a number that nobody tells."""
    score = entry.scores.get(column)
    return None if score is None or 0 < score.n < FEW else score.value


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _missing(entry: BoardEntry, story: Story | None) -> str:
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
