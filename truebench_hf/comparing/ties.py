"""Ranks, and which of them cannot be told apart, among entries that may be compared at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from truebench_hf.comparing.runs import Entry
from truebench_hf.metrics.ranks import Entrant, RankSpan, Results, rank_spans
from truebench_hf.types import Score

# Below this share of decided instances a score says more of what was left open than of the model: it takes no place.
COVERED = 0.9


def by_score(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries, best first, ranked within each setting by their scores' intervals alone, as if nothing were paired."""
    return tuple(row for group in _settings(entries) for row in _ranked(sorted(group, key=_best_first), {}))


def paired(entries: Sequence[Entry], outcomes: Mapping[str, Results]) -> tuple[Entry, ...]:
    """The entries ranked by comparing instances in pairs (`metrics.rank_span`).

    `outcomes` holds per entry key what `records.read_outcomes` gave. An entry without any, and one whose score is another
    share than that of what passed (a mean over judges, say), is compared by the interval of its score.
    """
    found = {entry.key: entry for group in _settings(entries) for entry in _ranked(group, outcomes)}
    return tuple(found[entry.key] for entry in entries)


def coverage(score: Score) -> float:
    """The share of its units that a score could be made of; 1 where there are none to count."""
    return score.n / (score.n + score.unscored) if score.n + score.unscored else 1.0


def is_the_share(entry: Entry, outcomes: Results) -> bool:
    """Whether an entry's score is the mean of these outcomes, and of all that it is of: a file may be cut short."""
    decided = [passed for passed in outcomes.values() if passed is not None]
    value, all_there = entry.overall.value, len(decided) == entry.overall.n
    return bool(decided) and value is not None and all_there and abs(sum(decided) / len(decided) - value) < 1e-8


def _best_first(entry: Entry) -> tuple[bool, float, str, str]:
    # The key comes last, so that the order does not depend on where folders lie.
    value = entry.overall.value or 0
    return entry.overall.value is None, value if entry.ascending else -value, entry.name, entry.key


def _settings(entries: Sequence[Entry]) -> list[list[Entry]]:
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.kind, entry.setting].append(entry)
    return list(groups.values())


def _ranked(group: Sequence[Entry], outcomes: Mapping[str, Results]) -> list[Entry]:
    """Entries of one setting with their ranks; those without a score or its interval, and those of
    which more than a tenth was left open, have none."""
    scored = [
        e
        for e in group
        if e.overall.value is not None and e.overall.ci95 is not None and coverage(e.overall) >= COVERED
    ]
    known = {e.key: outcomes[e.key] for e in scored if e.key in outcomes and is_the_share(e, outcomes[e.key])}
    entrants = {entry.key: Entrant(entry.overall, known.get(entry.key, {})) for entry in scored}
    spans = rank_spans(entrants, ascending=bool(group) and group[0].ascending)
    return [_placed(entry, spans[entry.key]) if entry.key in spans else entry for entry in group]


def _placed(entry: Entry, span: RankSpan) -> Entry:
    return replace(entry, rank=span.first, last=span.last, approximate=span.approximate)
