"""Which part of the data `--limit` takes: a seeded sample that keeps every group in its proportion.

A larger sample holds every smaller one, so that a run can be extended and pays only for what is new. The order is made
of SHA-256 and whole numbers alone: every machine and every Python draws the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from truebench_hf.errors import UserError
from truebench_hf.hashing import digest

T = TypeVar("T")

_WHOLE = 2**64
_GOLDEN = 0x9E3779B97F4A7C15  # the golden ratio's share of it: multiples of it lie evenly, however many are taken


def sample(
    rows: Sequence[T], limit: int | None, name: Callable[[T], str], strata: Callable[[T], tuple[str | None, ...]],
    seed: int = 0, group: Callable[[T], str] | None = None,
) -> list[T]:  # fmt: skip
    """`limit` of the rows in their order; all of them, where there are no more or no limit is given.

    Systematic sampling: the rows of a stratum (a language, and in it a category, say) stand at equal distances, in an
    order drawn by the seed and their names, from an offset that differs from stratum to stratum; whatever stands first
    is taken. So every stratum has its share of every sample to within a row or two, and every row about the same
    chance. With `group`, one row of every group is taken before a second of any. Raises UserError on a limit below 1.
    """
    if limit is not None and limit < 1:
        raise UserError(f"--limit {limit}: must be at least 1")
    if limit is None or limit >= len(rows):
        return list(rows)
    groups = [group(row) for row in rows] if group else []
    drawn = [_number(f"{seed} {name(row)}") for row in rows]
    by_draw = sorted(range(len(rows)), key=lambda place: (drawn[place], place))
    turns, taken = [0] * len(rows), Counter[str]()  # per row how many of its group are taken before it
    for place in by_draw if group else ():
        turns[place] = taken[groups[place]]
        taken[groups[place]] += 1
    parts = [tuple(part or "" for part in strata(row)) for row in rows]
    starts = [_number(f"{seed} {depth}") for depth in range(len(parts[0]))]  # apart, or chances would hang together
    order: list[int] = []
    for turn in sorted(set(turns)):
        order += _interleaved([place for place in by_draw if turns[place] == turn], parts, starts)
        if len(order) >= limit:
            break
    return [rows[place] for place in sorted(order[:limit])]


def _interleaved(
    places: list[int], parts: Sequence[tuple[str, ...]], starts: Sequence[int], depth: int = 0, first: int = 0
) -> list[int]:
    """Places, drawn, in the order in which they are taken: the strata of this depth each at equal distances."""
    if depth == len(starts):
        return places
    strata: dict[str, list[int]] = {}
    for place in places:
        strata.setdefault(parts[place][depth], []).append(place)
    ranked: list[tuple[int, str, int]] = []
    for number, stratum in enumerate(sorted(strata), first):
        offset = (starts[depth] + number * _GOLDEN) % _WHOLE
        inner = _interleaved(strata[stratum], parts, starts, depth + 1, number)
        ranked += [((rank * _WHOLE + offset) // len(inner), stratum, place) for rank, place in enumerate(inner)]
    return [place for *_, place in sorted(ranked)]


def _number(text: str) -> int:
    return int(digest(text)[:16], 16)
