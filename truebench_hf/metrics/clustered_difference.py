"""The difference of two shares on the same rows, where rows of one instruction (cluster) go together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import sqrt

from truebench_hf.metrics.binary import parallel
from truebench_hf.metrics.comparison import PairedDifference
from truebench_hf.metrics.intervals import clustered_share


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
    for one, other, cluster in zip(first, second, clusters, strict=True):
        if one is not None and other is not None:
            row = counts.setdefault(cluster, [0, 0, 0])
            row[0] += 1
            row[1] += one and not other
            row[2] += other and not one
    if not counts:
        return PairedDifference(None, None, 0, total)
    of, won, lost = (list(map(float, column)) for column in zip(*counts.values(), strict=True))
    n, left_out = int(sum(of)), total - int(sum(of))
    gain, loss = sum(won) / n, sum(lost) / n
    won_ends, lost_ends = clustered_share(won, of), clustered_share(lost, of)
    if won_ends is None or lost_ends is None:
        return PairedDifference(gain - loss, None, n, left_out)
    together = _correlation([w - gain * m for w, m in zip(won, of, strict=True)],
                            [s - loss * m for s, m in zip(lost, of, strict=True)])  # fmt: skip
    (low, high), (floor, roof) = won_ends, lost_ends
    below, above = _reach(gain - low, roof - loss, together), _reach(high - gain, loss - floor, together)
    interval = max(-1.0, gain - loss - below), min(1.0, gain - loss + above)
    return PairedDifference(gain - loss, interval, n, left_out, ahead=(interval[0] > 0) - (interval[1] < 0))


def _correlation(x: Sequence[float], y: Sequence[float]) -> float:
    spread = sqrt(sum(a * a for a in x) * sum(b * b for b in y))
    return sum(a * b for a, b in zip(x, y, strict=True)) / spread if spread > 1e-12 else 0.0


def _reach(one: float, other: float, correlation: float) -> float:
    return sqrt(max(0.0, one * one + other * other - 2 * correlation * one * other))
