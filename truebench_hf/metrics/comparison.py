"""Two models, or two ways to judge, on the same rows: the difference with its interval, and whether it is sure.

All that is needed of a pair of models is counted first (`Tally`), so that two models and all pairs of hundreds
(`ranks.py`) are compared by the same formulas.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from math import hypot, sqrt
from typing import Any

import numpy as np

from truebench_hf.metrics.binary import parallel
from truebench_hf.metrics.intervals import CONFIDENCE, MIN_CLUSTERS, clustered_share
from truebench_hf.types import Score

# Fewer shared instances say too little for an interval: they are compared by McNemar's exact test.
MIN_PAIRS = 10


@dataclass(frozen=True)
class PairedDifference:
    """Mean of first minus second over the `n` instances that both have; `left_out` instances lack one of the two.

    `difference` is None without such instances. With fewer than `MIN_PAIRS` there is no `interval`. `p_value` is
    McNemar's, None where a score is neither 0 nor 1. `ahead` is 1 where the first is surely better, -1 where the second
    is, else 0: by the interval, or where there is none by McNemar's test.
    """

    difference: float | None
    interval: tuple[float, float] | None
    n: int
    left_out: int
    p_value: float | None = None
    ahead: int = 0

    @property
    def score(self) -> Score:
        """The difference as a cell of a table."""
        return Score(self.difference, self.n, self.left_out, self.interval)


@dataclass(frozen=True)
class Tally:
    """What is counted of pairs of scores (0..1), each as an array of one shape, a place for every pair of models.

    `n` shared instances; the sum of first minus second (`gap`) and of its `squares`; the instances where the first has 1
    and the second 0 (`won`), and the reverse (`lost`); whether all shared scores are 0 or 1 (`binary`).
    """

    n: Any
    gap: Any
    squares: Any
    won: Any
    lost: Any
    binary: Any


def paired_difference(first: Sequence[float | None], second: Sequence[float | None]) -> PairedDifference:
    """The mean of first minus second over the instances that both have, with its interval.

    One score (0..1) an instance and model (True and False count as 1 and 0); None is not judged. Pass and fail: the
    interval of Bonett and Price (2012), Wald's after one instance was added for each of the models that it alone
    passed, with a t quantile. From ten pairs on it covers 93 % and more and separates equal models in at most 6 % of
    samples (a bootstrap: in 8), and at ten it goes on where McNemar's test left off. Other scores: the interval of
    `clustered_share` for the mean of (1 + first - second) / 2. Fewer than `MIN_PAIRS` shared instances are compared by
    McNemar's exact test. Raises `UserError` for columns of unequal length.
    """
    total = parallel(first=first, second=second)
    columns = np.array([first, second], dtype=float)
    first_known, second_known = columns[:, ~np.isnan(columns).any(axis=0)]
    n = len(first_known)
    if not n:
        return PairedDifference(None, None, 0, total)
    counted = tally(first_known, second_known)
    low, high = ends(counted)
    interval = (float(low), float(high)) if n >= MIN_PAIRS else None
    p_value = float(mcnemar(counted.won, counted.lost)) if counted.binary else None
    mean_gap = float((first_known - second_known).mean())
    return PairedDifference(mean_gap, interval, n, total - n, p_value, int(ahead(counted)))


def tally(first: Any, second: Any) -> Tally:
    """Count what is needed of two arrays of scores, all of them known."""
    gaps = first - second
    binary = bool(((first == 0) | (first == 1)).all() and ((second == 0) | (second == 1)).all())
    counts = (float(len(gaps)), gaps.sum(), (gaps * gaps).sum(), int((gaps == 1).sum()), int((gaps == -1).sum()))
    return Tally(*map(np.array, (*counts, binary)))


def ahead(pairs: Tally) -> Any:
    """1 where the first is surely better, -1 where the second is, else 0: an array of the pairs' shape."""
    low, high = ends(pairs)
    sure = (low > 0).astype(int) - (high < 0).astype(int)
    few = np.where(pairs.binary & (mcnemar(pairs.won, pairs.lost) < 1 - CONFIDENCE), np.sign(pairs.gap), 0)
    return np.where(pairs.n >= MIN_PAIRS, sure, few).astype(int)


def ends(pairs: Tally, confidence: float = CONFIDENCE) -> Any:
    """The ends of the interval of each mean difference, as `paired_difference` says; meant for `MIN_PAIRS` and more."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Of shares that of Bonett and Price (2012), from what only one of the two passed.
        won, lost = (pairs.won + 1) / (pairs.n + 2), (pairs.lost + 1) / (pairs.n + 2)
        centre = won - lost
        reach = _quantile(pairs.n, confidence) * np.sqrt((won + lost - centre * centre) / (pairs.n + 2))
        low, high = _of_means(pairs, confidence)
    return (
        np.where(pairs.binary, np.maximum(-1.0, centre - reach), low),
        np.where(pairs.binary, np.minimum(1.0, centre + reach), high),
    )


def mcnemar(won: Any, lost: Any) -> Any:
    """The two-sided p-value of McNemar's exact test (1947), of counts or arrays of them: of the instances that only one
    of two models passed, how many would be the first one's if an even coin decided.

    statsmodels has it too, and takes a second to import.
    """
    from scipy.special import bdtr

    n = np.add(won, lost).astype(int)
    return np.minimum(1.0, 2 * bdtr(np.minimum(won, lost).astype(float), n, 0.5))


def unpaired(first: Score, second: Score) -> int:
    """1 where the first score is surely greater, -1 where the second is, else 0: for scores of which only totals are known.

    The 95 % interval of the difference is made of those of both scores (Zou and Donner 2008); for shares with Wilson's
    that is Newcombe's (1998, method 10). A score without an interval, or over fewer than `MIN_PAIRS`, separates nothing.
    """
    if first.value is None or second.value is None or first.ci95 is None or second.ci95 is None:
        return 0
    if min(first.n, second.n) < MIN_PAIRS:
        return 0
    (low, high), (floor, roof) = first.ci95, second.ci95
    gap = first.value - second.value
    below, above = hypot(first.value - low, roof - second.value), hypot(high - first.value, second.value - floor)
    return int(gap > below) - int(-gap > above)


def clustered_difference(
    first: Sequence[bool | None], second: Sequence[bool | None], clusters: Sequence[Hashable]
) -> PairedDifference:
    """The share of the first less that of the second over the rows where both are decided; None is undecided.

    What only one of the two has are two shares of the rows, each with the interval of `clustered_share`; that of their
    difference is made of both (Zou and Donner 2008, MOVER), with their correlation between clusters. None with fewer
    than ten clusters. Simulated with clusters of 1 to 8 alike or unlike rows it covers 95 % and more from ten clusters
    on; without the correlation it fell to 91 %. Raises `UserError` for columns of unequal length.
    """
    total = parallel(first=first, second=second, clusters=clusters)
    counts: dict[Hashable, list[int]] = {}  # rows, those that the first alone has, those that the second alone has
    for left, right, cluster in zip(first, second, clusters, strict=True):
        if left is not None and right is not None:
            row = counts.setdefault(cluster, [0, 0, 0])
            row[0] += 1
            row[1] += left and not right
            row[2] += right and not left
    if not counts:
        return PairedDifference(None, None, 0, total)
    of, won, lost = (list(map(float, column)) for column in zip(*counts.values(), strict=True))
    n, left_out = int(sum(of)), total - int(sum(of))
    gain, loss = sum(won) / n, sum(lost) / n
    won_ends, lost_ends = clustered_share(won, of), clustered_share(lost, of)
    if won_ends is None or lost_ends is None:
        return PairedDifference(gain - loss, None, n, left_out)
    x, y = np.array(won) - gain * np.array(of), np.array(lost) - loss * np.array(of)
    spread = sqrt(float((x * x).sum() * (y * y).sum()))
    together = float((x * y).sum()) / spread if spread > 1e-12 else 0.0
    (low, high), (floor, roof) = won_ends, lost_ends
    below, above = (
        sqrt(max(0.0, a * a + b * b - 2 * together * a * b))
        for a, b in ((gain - low, roof - loss), (high - gain, loss - floor))
    )
    interval = max(-1.0, gain - loss - below), min(1.0, gain - loss + above)
    return PairedDifference(gain - loss, interval, n, left_out, ahead=(interval[0] > 0) - (interval[1] < 0))


def linearised_difference(
    value: float, moves: Any, clusters: Any, left_out: int = 0, *, times: int = 1, least: float = 0.0
) -> PairedDifference:
    """Return a difference of two measures with its interval, from how far each row moves it: its derivative.

    `clusters` are codes from 0 on. The variance is that between clusters, with a t quantile, and two clusters as far
    apart as those that differ are on average added to it, as Bonett and Price (2012) do for shares: with few rows on
    which the two differ it would else find a difference in chance. Simulated, it covers the truth in 94 to 95 % of
    samples of 36 to 406 single rows, and of 92 % of twelve uneven clusters. None below ten clusters. `times` divides
    the level among so many comparisons; where no row moves it, clusters count as if one moved it by `least`.
    """
    from scipy.special import stdtrit  # slower to import than all other scoring

    count = int(clusters.max()) + 1 if len(clusters) else 0
    if count < MIN_CLUSTERS:
        return PairedDifference(value, None, len(moves), left_out)
    by_cluster = np.bincount(clusters, moves, count)
    apart = by_cluster[np.abs(by_cluster) > 1e-12] ** 2
    extra = 2 * (float(apart.mean()) if len(apart) else least**2)
    quantile = float(stdtrit(count - 1, 1 - (1 - CONFIDENCE) / 2 / times))
    reach = quantile * sqrt(float(apart.sum()) + extra)
    ends = max(-1.0, value - reach), min(1.0, value + reach)
    return PairedDifference(value, ends, len(moves), left_out, ahead=(ends[0] > 0) - (ends[1] < 0))


def _quantile(n: Any, confidence: float) -> Any:
    from scipy.special import stdtrit

    return stdtrit(np.maximum(n - 1, 1.0), (1 + confidence) / 2)


def _of_means(pairs: Tally, confidence: float) -> tuple[Any, Any]:
    """The interval of `clustered_share` for the mean of (1 + gap) / 2, every instance a cluster of its own, as a gap.

    `clustered_mean` says why: Wilson's formula at the n at which independent units would have the variance that was
    found, with what few dissenting instances lack of it added.
    """
    n = pairs.n
    share = np.round((1 + pairs.gap / n) / 2, 12)
    unit = np.where((share <= 0) | (share >= 1), 1.0, share * (1 - share))
    variance = np.maximum(0.0, pairs.squares - pairs.gap**2 / n) / 4 / (n * (n - 1)) / unit
    agreed = variance <= 1e-12
    dissent = np.where(agreed, 0, n - np.maximum(pairs.won, pairs.lost))
    missing = np.maximum(1 / n - variance, 0) / (1 + dissent)
    spread = _quantile(n, confidence) ** 2 * (variance + missing)
    centre = (share + spread / 2) / (1 + spread)
    reach = np.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    return 2 * (centre - reach) - 1, 2 * (centre + reach) - 1
