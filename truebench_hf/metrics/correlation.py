"""Correlation of two columns of scores: Spearman's rho, Kendall's tau-b and Pearson's r, as scipy computes them.

Rank correlation compares two rankings of models (paper 000, Table 7, which does not name its kind); paper 001, Table 4,
and paper 004, Table 3a, give Pearson's r.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.metrics.binary import parallel


@dataclass(frozen=True)
class Correlation:
    """A coefficient in -1..1 with its two-sided p-value over `n` pairs; `left_out` pairs lacked one of the scores.

    `value` is None for fewer than two pairs or where one column is constant; `p_value` also where scipy has none (two
    pairs always lie on a line, so rho says nothing there).
    """

    value: float | None
    p_value: float | None
    n: int
    left_out: int


def spearman(x: Sequence[float | None], y: Sequence[float | None]) -> Correlation:
    """Spearman's rho, ties at their mean rank. Raises `UserError` for columns of unequal length."""
    from scipy.stats import spearmanr

    return _correlate(spearmanr, x, y)


def kendall(x: Sequence[float | None], y: Sequence[float | None]) -> Correlation:
    """Kendall's tau-b, which allows for ties. Raises `UserError` for columns of unequal length."""
    from scipy.stats import kendalltau

    return _correlate(kendalltau, x, y)


def pearson(x: Sequence[float | None], y: Sequence[float | None]) -> Correlation:
    """Pearson's r; a column constant but for rounding has none either. Raises `UserError` for unequal columns."""
    import warnings

    from scipy.stats import NearConstantInputWarning, pearsonr

    with warnings.catch_warnings():
        warnings.simplefilter("error", NearConstantInputWarning)
        try:
            return _correlate(pearsonr, x, y, _finite)
        except NearConstantInputWarning:
            n = sum(_finite(left) and _finite(right) for left, right in zip(x, y, strict=True))
            return Correlation(None, None, n=n, left_out=len(x) - n)


def _known(score: float | None) -> bool:
    return score is not None and not math.isnan(score)


def _finite(score: float | None) -> bool:
    return score is not None and math.isfinite(score)  # an endless score has a rank, but no distance from the mean


def _correlate(
    library: Callable[..., Any],
    x: Sequence[float | None],
    y: Sequence[float | None],
    known: Callable[[float | None], bool] = _known,
) -> Correlation:
    total = parallel(x=x, y=y)
    pairs = [(left, right) for left, right in zip(x, y, strict=True) if known(left) and known(right)]
    value = p_value = None
    if len({left for left, _ in pairs}) > 1 and len({right for _, right in pairs}) > 1:
        result = library([left for left, _ in pairs], [right for _, right in pairs])
        value = float(result.statistic)
        # The p-value of rho divides by the n - 2 degrees of freedom.
        p_value = float(result.pvalue) if len(pairs) > 2 else None
    return Correlation(value, p_value, n=len(pairs), left_out=total - len(pairs))
