"""What a visitor reads of one model, opened in its row: how it does, where it is weakest, why it fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from truebench_hf.comparing.papers import JUDGES
from truebench_hf.comparing.runs import Entry
from truebench_hf.comparing.table import UNKNOWN, Kind
from truebench_hf.space.board import words
from truebench_hf.space.board.boards import Group
from truebench_hf.space.board.page import FEW
from truebench_hf.space.board.story import Example, Story

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
    places = str(entry.rank) if entry.last in (None, entry.rank) else f"{entry.rank}–{entry.last}"
    return f"{kind.unit}: {share}{of}, rank {places} of {sum(e.rank is not None for e in group.entries)}"


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
