"""The one bootstrap of the house: whole clusters (conversations, instructions, models) are drawn anew."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from truebench_hf.metrics.binary import parallel
from truebench_hf.metrics.intervals import MIN_CLUSTERS, clustered_share

DRAWS = 4000
_KEPT = 4000  # of so many clusters all draws are held at once (128 MB), of more some at a time


def resampled_ratio(
    top: Sequence[float], bottom: Sequence[float], *, seed: int = 0, confidence: float = 0.95
) -> tuple[float, float] | None:
    """Percentile interval of sum(top) / sum(bottom), an entry of each per cluster, as shares in [0, 1].

    Where all clusters agree every draw is the same and would claim certainty: then, and wherever it is wider, it is
    `clustered_share`'s. None with fewer than `MIN_CLUSTERS` clusters that have anything in `bottom`.
    """
    parallel(top=top, bottom=bottom)
    if sum(map(bool, bottom)) < MIN_CLUSTERS:
        return None
    drawn = drawn_ratios([(top, bottom)], seed)[0]
    found = percentiles(drawn, confidence)
    floor = clustered_share(top, bottom, confidence)
    if found is None or floor is None:
        return floor
    return min(found[0], floor[0]), max(found[1], floor[1])


def resampled_difference(
    first: tuple[Sequence[float], Sequence[float]], second: tuple[Sequence[float], Sequence[float]],
    *, seed: int = 0, confidence: float = 0.95,
) -> tuple[float, float] | None:  # fmt: skip
    """Percentile interval of the difference of two ratios (top, bottom) over the same clusters, drawn together.

    None with fewer than `MIN_CLUSTERS` clusters in which either has anything, and where no draw differs from another.
    """
    parallel(first_top=first[0], first_bottom=first[1], second_top=second[0], second_bottom=second[1])
    if sum(map(any, zip(first[1], second[1], strict=True))) < MIN_CLUSTERS:
        return None
    one, other = drawn_ratios([first, second], seed)
    found = percentiles(one - other, confidence)
    return None if found is None or found[0] == found[1] else found


def drawn_ratios(ratios: Sequence[tuple[Sequence[float], Sequence[float]]], seed: int) -> list[Any]:
    """The ratios in every draw of as many clusters as there are, with the same clusters for all; NaN where undefined."""
    import numpy as np

    columns = [np.asarray(column, dtype=float) for ratio in ratios for column in ratio]
    blocks = [[weights @ column for column in columns] for weights in draws(len(ratios[0][0]), seed)]
    sums = [np.concatenate(of) for of in zip(*blocks, strict=True)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return [top / bottom for top, bottom in zip(sums[::2], sums[1::2], strict=True)]


def draws(count: int, seed: int, size: int = DRAWS) -> Iterable[Any]:
    """How often each of `count` clusters is drawn: an array a block of draws, a row a draw, `size` rows in all."""
    return _kept(count, seed, size) if count <= _KEPT else _drawn(count, seed, size)


@lru_cache(maxsize=4)  # a report asks for dozens of intervals over the same conversations
def _kept(count: int, seed: int, size: int) -> list[Any]:
    return list(_drawn(count, seed, size))


def _drawn(count: int, seed: int, size: int) -> Iterator[Any]:
    import numpy as np

    random, at_once = np.random.default_rng(seed), max(1, _KEPT * DRAWS // max(count, 1))
    for first in range(0, size, at_once):
        # Floats, which products of matrices are made of: whole numbers would be made floats for every ratio again.
        yield random.multinomial(count, np.full(count, 1 / count), size=min(at_once, size - first)).astype(float)


def percentiles(drawn: Any, confidence: float) -> tuple[float, float] | None:
    """The interval that holds the middle of what was drawn; None where nothing was, NaN being nothing."""
    import numpy as np

    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
