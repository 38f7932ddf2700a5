"""Drawing rows so that every group is there in its proportion."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

T = TypeVar("T")


def stratified(rows: Sequence[T], n: int, group: Callable[[T], Hashable], seed: int) -> list[T]:
    """`n` rows (all, where there are fewer), drawn by `seed` from each group in proportion, in the order of `rows`.

    Shares are rounded by the largest remainder, but no group goes empty while there is room for all of them.
    """
    groups: dict[Hashable, list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(group(row), []).append(place)
    n = min(n, len(rows))
    least = 1 if n >= len(groups) else 0
    exact = {name: n * len(places) / len(rows) for name, places in groups.items()}
    taken = {name: max(least, int(share)) for name, share in exact.items()}
    while sum(taken.values()) < n:
        taken[max((g for g in groups if taken[g] < len(groups[g])), key=lambda g: exact[g] - taken[g])] += 1
    while sum(taken.values()) > n:  # the guaranteed ones may overshoot
        taken[min((g for g in groups if taken[g] > least), key=lambda g: exact[g] - taken[g])] -= 1
    draw = random.Random(seed)
    return [rows[i] for i in sorted(i for name, places in groups.items() for i in draw.sample(places, taken[name]))]
