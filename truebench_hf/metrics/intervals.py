"""Confidence intervals for shares: Wilson's for independent units, and one for shares whose units come in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist
from typing import Any

# Fewer clusters cannot tell how far clusters differ: whatever is computed from them covers too little.
MIN_CLUSTERS = 10


def wilson(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of a share of independent units, as shares in [0, 1]; None for n = 0."""
    return wilson_at(successes / n, n, NormalDist().inv_cdf((1 + confidence) / 2)) if n else None


def wilson_at(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Wilson's formula for a share (0..1) with an effective `n` and a two-sided quantile of the normal or a t.

    Written out, since importing scipy.stats takes longer than all other scoring; the tests hold it against the library.
    """
    spread = quantile * quantile / n
    centre = (share + spread / 2) / (1 + spread)
    reach = quantile * sqrt(share * (1 - share) / n + spread / (4 * n)) / (1 + spread)
    # Exact ends where nothing or everything succeeded: rounding would leave -1e-17.
    return (0.0 if share == 0 else centre - reach), (1.0 if share == 1 else centre + reach)


def clustered_share(
    passed: Sequence[float], of: Sequence[float], confidence: float = 0.95
) -> tuple[float, float] | None:
    """Interval of sum(passed) / sum(of), one entry of each per cluster (instance, instruction), as shares in [0, 1].

    `passed` may hold fractions; with `of` all 1 the share is the mean of one share per cluster. A cluster with 0 in
    `of` counts for nothing. None with fewer than `MIN_CLUSTERS` clusters. How it is made: `clustered_mean`.
    """
    import numpy as np

    top, bottom = np.asarray(passed, dtype=float), np.asarray(of, dtype=float)
    return clustered_mean(top[:, None, None], bottom[:, None, None], confidence)


def clustered_mean(passed: Any, of: Any, confidence: float = 0.95) -> tuple[float, float] | None:
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
    from scipy.special import stdtrit

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
    found = float(((weights * moves).sum(axis=(1, 2)) ** 2).sum()) / unit
    alone = (moves**2).sum(axis=0) / unit
    agreed = alone <= 1e-12
    dissent = np.where(agreed, 0, np.minimum((present & (top < bottom)).sum(axis=0), (top > 0).sum(axis=0)))
    floor = np.where(agreed, 1 / np.maximum(sizes, 1), (pull**2).sum(axis=0))
    missing = np.maximum(floor - alone, 0) / (1 + dissent)
    # The shares of one stratum rest on the same clusters: what is missing may be missing from all of them at once.
    unseen = float(((weights * np.sqrt(missing)).sum(axis=1) ** 2).sum())
    effective = 1 / float(((weights * pull).sum(axis=(1, 2)) ** 2).sum())
    quantile = float(stdtrit(max(1.0, effective - strata), (1 + confidence) / 2))
    # Shares that make up for one another in every cluster leave no variance at all: they count as where all agree.
    spread = found + unseen if found + unseen > 1e-12 else 1 / clusters
    return wilson_at(share, 1 / spread, quantile)
