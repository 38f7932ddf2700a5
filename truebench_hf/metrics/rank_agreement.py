"""How far two rankings of the same models agree, with intervals over the choice of models (paper 000, Table 7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.metrics.bootstrap import draws, percentiles
from truebench_hf.metrics.correlation import Correlation, kendall, spearman
from truebench_hf.metrics.intervals import MIN_CLUSTERS

DRAWS = 2000
Interval = tuple[float, float]


@dataclass(frozen=True)
class RankAgreement:
    """Spearman's rho and Kendall's tau-b over the `n` models that have both scores, with 95 % intervals.

    No interval with fewer than `MIN_CLUSTERS` models, and where no draw differs from another (equal orders, say).
    """

    spearman: Correlation
    kendall: Correlation
    spearman_interval: Interval | None
    kendall_interval: Interval | None

    @property
    def n(self) -> int:
        """The models that have both scores."""
        return self.spearman.n


def rank_agreement(x: Sequence[float | None], y: Sequence[float | None], *, seed: int = 0) -> RankAgreement:
    """Both coefficients of two columns, a model a place, with percentile intervals of a bootstrap over models.

    By simulation (normal scores, 10 to 31 models, correlations of 0.5 to 0.95) the intervals cover 94 % and more.
    Raises `UserError` for columns of unequal length.
    """
    rho, tau = spearman(x, y), kendall(x, y)
    pairs = [pair for pair in zip(x, y, strict=True) if _known(*pair)]
    if rho.value is None or len(pairs) < MIN_CLUSTERS:
        return RankAgreement(rho, tau, None, None)
    return RankAgreement(rho, tau, *_intervals(pairs, seed))


def _known(*scores: float | None) -> bool:
    return all(score is not None and score == score for score in scores)


def _intervals(pairs: Sequence[tuple[Any, Any]], seed: int) -> tuple[Interval | None, Interval | None]:
    """Both coefficients of every draw at once, from who stands above whom and how often each model was drawn."""
    import numpy as np

    columns, count = np.array(pairs, dtype=float).T, len(pairs)
    drawn = np.concatenate(list(draws(count, seed, DRAWS)))
    one, other = ((column[:, None] > column).astype(float) - (column[:, None] < column) for column in columns)
    with np.errstate(invalid="ignore", divide="ignore"):
        # A model's mid-rank less the mean rank is half of how many it stands above less how many above it.
        above, beside = drawn @ one.T, drawn @ other.T
        rho = _sum(drawn, above * beside) / np.sqrt(_sum(drawn, above**2) * _sum(drawn, beside**2))
        apart = [_sum(drawn, drawn @ np.abs(signs)) for signs in (one, other)]
        tau = _sum(drawn, drawn @ (one * other)) / np.sqrt(apart[0] * apart[1])
    return _percentiles(rho), _percentiles(tau)


def _sum(drawn: Any, values: Any) -> Any:
    return (drawn * values).sum(axis=1)


def _percentiles(values: Any) -> Interval | None:
    ends = percentiles(values, 0.95)  # a draw of one and the same model tells nothing
    return ends if ends and ends[1] - ends[0] > 1e-12 else None
