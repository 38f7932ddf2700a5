"""Confidence intervals for shares: Wilson's for independent units, one for shares whose units come in clusters, and the one
bootstrap of the house, which draws whole clusters (conversations, instructions, models) anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from math import sqrt
from statistics import NormalDist
from typing import Any

from truebench_hf.metrics.binary import parallel

# Fewer clusters cannot tell how far clusters differ: whatever is computed from them covers too little.
MIN_CLUSTERS = 10
CONFIDENCE = 0.95  # of every interval of the house


def wilson(successes: int, n: int) -> tuple[float, float] | None:
    """Wilson score interval of a share of independent units, as shares in [0, 1]; None for n = 0."""
    return effective_interval(successes / n, n) if n else None


def effective_interval(share: float, n: float, freedom: float | None = None) -> tuple[float, float]:
    """The Wilson interval of a share (0..1) that is as sure as one of `n` independent units; `n` need not be whole.

    With `freedom` (units in clusters) the t quantile with that many degrees, at least one, replaces the normal one.
    Written out, since importing scipy.stats takes longer than all other scoring; the tests hold it against the library.
    """
    quantile = NormalDist().inv_cdf((1 + CONFIDENCE) / 2)
    if freedom is not None:
        from scipy.special import stdtrit  # slower to import than all other scoring

        quantile = float(stdtrit(max(1.0, freedom), (1 + CONFIDENCE) / 2))
    spread = quantile * quantile / n
    centre = (share + spread / 2) / (1 + spread)
    reach = quantile * sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    # Exact ends where nothing or everything succeeded: rounding would leave -1e-17.
    return (0.0 if share == 0 else centre - reach), (1.0 if share == 1 else centre + reach)


def clustered_share(passed: Any, of: Any) -> tuple[float, float] | None:
    """Interval of sum(passed) / sum(of), one entry of each per cluster (instance, instruction), as shares in [0, 1].

    Both are arrays or lists. `passed` may hold fractions; with `of` all 1 the share is the mean of one share per cluster. A cluster with 0 in
    `of` counts for nothing. None with fewer than `MIN_CLUSTERS` clusters. How it is made: `clustered_mean`.
    """
    import numpy as np

    top, bottom = np.asarray(passed, dtype=float), np.asarray(of, dtype=float)
    return clustered_mean(top[:, None, None], bottom[:, None, None])


def clustered_mean(passed: Any, of: Any) -> tuple[float, float] | None:
    """Interval of the plain mean, over strata, of the plain mean of a stratum's shares sum(passed) / sum(of).

    Both arrays have the shape (clusters, strata, shares), with 0 where a cluster has nothing. Balanced accuracy has two
    shares, TPR and TNR, in one stratum; RubricEval's overall accuracy has one share in four strata. None with fewer
    than `MIN_CLUSTERS` clusters, where a share has rows in one cluster only, and where a stratum has no share.

    Wilson's formula with the n at which independent units would have the variance found between clusters (linearised,
    corrected for what each cluster draws towards itself), and a t quantile. Its degrees of freedom are the effective
    number of clusters (Kish 1965: one large among small ones tells little more than one) less the strata. Few
    dissenting clusters make the variance small by chance, so each share adds what is missing to one unit an effective
    cluster, divided by 1 + the clusters that dissent; where all agree, n is the number of clusters. The tests simulate
    the coverage, for alike and for skewed sizes: 93 % and more from 10 clusters on.
    """
    import numpy as np

    top, bottom = np.asarray(passed, dtype=float), np.asarray(of, dtype=float)
    present = bottom > 0
    clusters, sizes = int(present.any(axis=(1, 2)).sum()), present.sum(axis=0)
    if clusters < MIN_CLUSTERS or not sizes.any(axis=1).all() or (sizes == 1).any():
        return None
    strata = len(sizes)
    weights = (sizes > 0) / (sizes > 0).sum(axis=1, keepdims=True) / strata
    held = np.where(sizes > 0, bottom.sum(axis=0), 1)  # shares without rows weigh nothing; 1 keeps them finite
    shares, pull = top.sum(axis=0) / held, bottom / held
    moves = (top - shares * bottom) / held / np.sqrt(1 - pull)
    share = round(float((weights * shares).sum()), 12)
    unit = share * (1 - share) or 1.0  # at 0 and 1 nothing moves
    variance = float(((weights * moves).sum(axis=(1, 2)) ** 2).sum()) / unit
    alone = (moves**2).sum(axis=0) / unit
    agreed = alone <= 1e-12
    dissent = np.where(agreed, 0, np.minimum((present & (top < bottom)).sum(axis=0), (top > 0).sum(axis=0)))
    floor = np.where(agreed, 1 / np.maximum(sizes, 1), (pull**2).sum(axis=0))
    missing = np.maximum(floor - alone, 0) / (1 + dissent)
    # The shares of one stratum rest on the same clusters: what is missing may be missing from all of them at once.
    unseen = float(((weights * np.sqrt(missing)).sum(axis=1) ** 2).sum())
    effective = 1 / float(((weights * pull).sum(axis=(1, 2)) ** 2).sum())
    # Shares that make up for one another in every cluster leave no variance at all: they count as where all agree.
    spread = variance + unseen if variance + unseen > 1e-12 else 1 / clusters
    return effective_interval(share, 1 / spread, effective - strata)


DRAWS = 4000
_KEPT = 4000  # of so many clusters all draws are held at once (128 MB), of more some at a time


def resampled_ratio(top: Sequence[float], bottom: Sequence[float]) -> tuple[float, float] | None:
    """Percentile interval of sum(top) / sum(bottom), an entry of each per cluster, as shares in [0, 1].

    Where all clusters agree every draw is the same and would claim certainty: then, and wherever it is wider, it is
    `clustered_share`'s. None with fewer than `MIN_CLUSTERS` clusters that have anything in `bottom`.
    """
    parallel(top=top, bottom=bottom)
    if sum(map(bool, bottom)) < MIN_CLUSTERS:
        return None
    ends, floor = percentiles(drawn_ratios([(top, bottom)])[0]), clustered_share(top, bottom)
    if ends is None or floor is None:
        return floor
    return min(ends[0], floor[0]), max(ends[1], floor[1])


def resampled_difference(
    first: tuple[Sequence[float], Sequence[float]], second: tuple[Sequence[float], Sequence[float]]
) -> tuple[float, float] | None:
    """Percentile interval of the difference of two ratios (top, bottom) over the same clusters, drawn together.

    None with fewer than `MIN_CLUSTERS` clusters in which either has anything, and where no draw differs from another.
    """
    parallel(first_top=first[0], first_bottom=first[1], second_top=second[0], second_bottom=second[1])
    if sum(map(any, zip(first[1], second[1], strict=True))) < MIN_CLUSTERS:
        return None
    left, right = drawn_ratios([first, second])
    ends = percentiles(left - right)
    return None if ends is None or ends[0] == ends[1] else ends


def drawn_ratios(ratios: Sequence[tuple[Sequence[float], Sequence[float]]], seed: int = 0) -> list[Any]:
    """The ratios in every draw of as many clusters as there are, with the same clusters for all; NaN where undefined."""
    import numpy as np

    columns = [np.asarray(column, dtype=float) for ratio in ratios for column in ratio]
    blocks = [[weights @ column for column in columns] for weights in draws(len(ratios[0][0]), seed)]
    sums = [np.concatenate(of) for of in zip(*blocks, strict=True)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return [top / bottom for top, bottom in zip(sums[::2], sums[1::2], strict=True)]


def draws(count: int, seed: int = 0, size: int = DRAWS) -> Iterable[Any]:
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


def percentiles(drawn: Any) -> tuple[float, float] | None:
    """The interval that holds the middle of what was drawn; None where nothing was, NaN being nothing."""
    import numpy as np

    known = drawn[~np.isnan(drawn)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)
