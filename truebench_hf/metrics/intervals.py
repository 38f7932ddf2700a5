"""Confidence intervals for shares: Wilson for independent units, bootstrap where several belong to one."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

# Fewer can be drawn in so few ways that the ends of a bootstrap interval would be chance: two in three ways, five in 126.
MIN_UNITS = 5


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of a share of independent units, as shares in [0, 1]; None for n = 0.

    Written out, since importing scipy.stats takes longer than all other scoring; the tests hold it against the library.
    """
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share, spread = successes / n, z * z / n
    centre = (share + spread / 2) / (1 + spread)
    reach = z * sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    # Exact ends where nothing or everything succeeded: rounding would leave -1e-17.
    return (0.0 if successes == 0 else centre - reach), (1.0 if successes == n else centre + reach)


def bootstrap_ratio(
    numerators: Sequence[float],
    denominators: Sequence[float],
    *,
    n_resamples: int = 1000,
    seed: int = 0,
    confidence: float = 0.95,
) -> tuple[float, float] | None:
    """Percentile interval of sum(numerators) / sum(denominators), resampling whole units (instances).

    Both have one entry per unit; denominators of 1 give the mean. None with fewer than `MIN_UNITS` units or
    when all denominators are 0.
    """
    import numpy as np

    top, bottom = np.asarray(numerators, dtype=float), np.asarray(denominators, dtype=float)
    if len(top) < MIN_UNITS or bottom.sum() == 0:
        return None
    drawn = np.random.default_rng(seed).integers(0, len(top), size=(n_resamples, len(top)), dtype=np.int32)
    totals = bottom[drawn].sum(axis=1)
    shares = top[drawn].sum(axis=1)[totals > 0] / totals[totals > 0]
    low, high = np.quantile(shares, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
