"""Intervals against the libraries that define them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from truebench_hf.metrics.intervals import bootstrap_ratio, wilson


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (1810, 2485), (1, 10_000)])
def test_wilson_is_that_of_statsmodels_and_scipy(successes: int, n: int, confidence: float) -> None:
    ours = wilson(successes, n, confidence)
    assert ours is not None
    assert ours == pytest.approx(proportion_confint(successes, n, alpha=1 - confidence, method="wilson"), abs=1e-12)
    theirs = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= ours[0] <= successes / n <= ours[1] <= 1


def test_wilson_without_units() -> None:
    assert wilson(0, 0) is None


def _scipy(top: np.ndarray, bottom: np.ndarray) -> tuple[float, float]:
    found = stats.bootstrap(
        (top, bottom), lambda a, b, axis: a.sum(axis) / b.sum(axis), paired=True, vectorized=True,
        n_resamples=4000, method="percentile", random_state=np.random.default_rng(1),
    )  # fmt: skip
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def test_bootstrap_ratio_is_that_of_scipy() -> None:
    random = np.random.default_rng(5)
    bottom = random.integers(1, 9, size=150)
    top = random.binomial(bottom, 0.7)
    ours = bootstrap_ratio(top.tolist(), bottom.tolist(), n_resamples=4000)
    assert ours == pytest.approx(_scipy(top, bottom), abs=0.006)
    narrower = bootstrap_ratio(top.tolist(), bottom.tolist(), n_resamples=4000, confidence=0.5)
    assert ours is not None
    assert narrower is not None
    assert ours[0] < narrower[0] < top.sum() / bottom.sum() < narrower[1] < ours[1]


@pytest.mark.parametrize(
    ("top", "bottom", "expected", "reason"),
    [
        ([], [], None, "no units"),
        ([0.0] * 5, [0.0] * 5, None, "nothing to divide by"),
        ([2.0], [4.0], None, "a single unit tells nothing of others"),
        ([1.0, 0.0, 1.0, 0.0], [1.0] * 4, None, "four units can be drawn in too few ways"),
        ([1.0] * 5, [1.0] * 5, (1.0, 1.0), "all alike"),
        ([0.0] * 5, [1.0] * 5, (0.0, 0.0), "all alike at the other end"),
        ([1.0, *[0.0] * 4], [2.0, *[0.0] * 4], (0.5, 0.5), "resamples without a denominator are left out"),
    ],
)
def test_bootstrap_ratio_at_the_edges(
    top: list[float], bottom: list[float], expected: tuple[float, float] | None, reason: str
) -> None:
    assert bootstrap_ratio(top, bottom) == expected, reason


def test_the_same_seed_gives_the_same_interval() -> None:
    top, bottom = [1.0, 0.0, 3.0, 2.0, 1.0], [3.0, 1.0, 3.0, 3.0, 4.0]
    assert bootstrap_ratio(top, bottom) == bootstrap_ratio(top, bottom)
    assert bootstrap_ratio(top, bottom, seed=1, n_resamples=50) != bootstrap_ratio(top, bottom, seed=2, n_resamples=50)
