"""Ranks, and which of them cannot be told apart, among entries that may be compared at all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from truebench_hf.metrics.comparison import paired_difference, rank_spans, unpaired
from truebench_hf.space.board.runs import Entry

Outcomes = Mapping[str, bool | None]  # instance id -> passed


def by_score(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries, best first, ranked within each setting by their scores' intervals alone, as if nothing were paired."""
    return tuple(row for group in _settings(entries) for row in _ranked(sorted(group, key=_best_first), _apart))


def paired(entries: Sequence[Entry], outcomes: Mapping[str, Outcomes]) -> tuple[Entry, ...]:
    """The entries ranked by comparing instances in pairs (`metrics.comparison.paired_difference`).

    `outcomes` holds per entry key what `records.read_outcomes` gave. An entry without any, and one whose score is another
    share than that of what passed (a mean over judges, say), is compared by the interval of its score.
    """
    import numpy as np

    found: dict[str, Entry] = {}
    for group in _settings(entries):
        known = [entry for entry in group if _is_the_share(entry, outcomes.get(entry.key, {}))]
        ids = sorted({i for entry in known for i in outcomes[entry.key]})
        columns = {e.key: np.array([outcomes[e.key].get(i) for i in ids], dtype=float) for e in known}

        def ahead(one: Entry, other: Entry, columns: Mapping[str, Any] = columns) -> int:
            if one.key in columns and other.key in columns:
                return _sign(one) * paired_difference(columns[one.key], columns[other.key]).ahead
            return _apart(one, other)

        found |= {entry.key: entry for entry in _ranked(group, ahead)}
    return tuple(found[entry.key] for entry in entries)


def _is_the_share(entry: Entry, outcomes: Outcomes) -> bool:
    decided = [passed for passed in outcomes.values() if passed is not None]
    value = entry.overall.value
    return bool(decided) and value is not None and abs(sum(decided) / len(decided) - value) < 1e-8


def _best_first(entry: Entry) -> tuple[bool, float, str, str]:
    # The key comes last, so that the order does not depend on where folders lie.
    value = entry.overall.value or 0
    return entry.overall.value is None, value if entry.ascending else -value, entry.name, entry.key


def _settings(entries: Sequence[Entry]) -> list[list[Entry]]:
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.kind, entry.setting].append(entry)
    return list(groups.values())


def _ranked(group: Sequence[Entry], ahead: Callable[[Entry, Entry], int]) -> list[Entry]:
    """Entries of one setting with their ranks; those without a score or its interval have none."""
    scored = {e.key: e for e in group if e.overall.value is not None and e.overall.ci95 is not None}
    spans = rank_spans(list(scored), lambda one, other: ahead(scored[one], scored[other]))
    ranks = {entry.key: spans.get(entry.key, (None, None)) for entry in group}
    return [replace(entry, rank=ranks[entry.key][0], last=ranks[entry.key][1]) for entry in group]


def _apart(one: Entry, other: Entry) -> int:
    return _sign(one) * unpaired(one.overall, other.overall)


def _sign(entry: Entry) -> int:
    return -1 if entry.ascending else 1
