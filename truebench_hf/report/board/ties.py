"""Ranks, and which of them cannot be told apart, among entries that may be compared at all."""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from truebench_hf.metrics.comparison import rank_groups
from truebench_hf.report.board.entries import Entry

Outcomes = Mapping[str, bool | None]  # instance id -> passed
_HEAD = re.compile(r'\{"id": "((?:[^"\\]|\\.)*)", .*?(?<!\\)"passed": (true|false|null),')
_PASSED = {"true": True, "false": False, "null": None}


def by_score(entries: Sequence[Entry]) -> tuple[Entry, ...]:
    """The entries with plain ranks by score within each setting; published ones with their ties, best first."""
    ranked: list[Entry] = []
    for group in _settings(entries):
        ordered = sorted(group, key=_best_first)
        if ordered[0].source == "paper":
            ranked += _unpaired(ordered)
        else:
            places = enumerate(ordered, 1)
            ranked += [replace(e, rank=None if e.overall.value is None else place, tied=False) for place, e in places]
    return tuple(ranked)


def paired(entries: Sequence[Entry], outcomes: Mapping[str, Outcomes], n_resamples: int = 1000) -> tuple[Entry, ...]:
    """The entries with ties by paired bootstrap over instances (`metrics.comparison.rank_groups`).

    `outcomes` holds per entry key what `read_outcomes` gave; entries without keep their rank by score.
    """
    known = [entry for entry in entries if entry.key in outcomes]
    ranks: dict[str, tuple[int | None, bool]] = {}
    for group in _settings(known):
        ids = sorted({i for entry in group for i in outcomes[entry.key]})
        columns = {entry.key: [outcomes[entry.key].get(i) for i in ids] for entry in group}
        ranked = rank_groups(columns, n_resamples=n_resamples)
        shared = [row.rank for row in ranked]
        ranks |= {row.model: (row.rank, row.rank is not None and shared.count(row.rank) > 1) for row in ranked}
    return tuple(
        replace(entry, rank=ranks[entry.key][0], tied=ranks[entry.key][1]) if entry.key in ranks else entry
        for entry in entries
    )


def read_outcomes(file: Path) -> Outcomes:
    """Instance id -> passed from a `judgments.jsonl`. Only the head of each line is read, since files are large.

    Raises OSError, and ValueError, KeyError, TypeError or RecursionError on lines of another form.
    """
    found: dict[str, bool | None] = {}
    with file.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if (head := _HEAD.match(line)) is not None:
                found[head[1]] = _PASSED[head[2]]
            elif line.strip():
                row = json.loads(line)
                if not isinstance(row["passed"], bool | None):
                    raise TypeError(f"{file}: passed is {row['passed']!r}")
                found[str(row["id"])] = row["passed"]
    return found


def _best_first(entry: Entry) -> tuple[bool, float, str, str]:
    # The key comes last, so that the order does not depend on where folders lie.
    return entry.overall.value is None, -(entry.overall.value or 0), entry.model, entry.key


def _settings(entries: Sequence[Entry]) -> list[list[Entry]]:
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        groups[entry.setting].append(entry)
    return list(groups.values())


def _unpaired(ordered: Sequence[Entry]) -> list[Entry]:
    # The papers give no outcomes by instance: two independent shares. Pairing could only tell more of them apart.
    ranks: list[int] = []
    leader = ordered[0]
    for place, entry in enumerate(ordered, 1):
        if place == 1 or not _overlap(leader, entry):
            leader = entry
            ranks.append(place)
        else:
            ranks.append(ranks[-1])
    return [replace(e, rank=r, tied=ranks.count(r) > 1) for e, r in zip(ordered, ranks, strict=True)]


def _overlap(first: Entry, second: Entry) -> bool:
    shares = [((entry.overall.value or 0) / 100, entry.overall.n) for entry in (first, second)]
    spread = math.sqrt(sum(p * (1 - p) / n for p, n in shares if n))
    return shares[0][0] - shares[1][0] <= 1.96 * spread
