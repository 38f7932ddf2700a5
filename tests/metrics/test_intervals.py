"""Intervals against the libraries that define them, and those over clusters by hand; test_coverage simulates them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from truebench_hf.metrics.intervals import clustered_mean, clustered_share, wilson, wilson_at


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (1810, 2485), (1, 10_000)])
def test_wilson_is_that_of_statsmodels_and_scipy(successes: int, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    ours = wilson(successes, n)
    assert ours is not None
    assert ours == pytest.approx(proportion_confint(successes, n, alpha=0.05, method="wilson"), abs=1e-12)
    theirs = stats.binomtest(successes, n).proportion_ci(0.95, method="wilson")
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= ours[0] <= successes / n <= ours[1] <= 1


def test_wilson_without_units() -> None:
    assert wilson(0, 0) is None


T8, T9, T11 = stats.t.ppf(0.975, (8, 9, 11))  # Student's t: of clusters alike, one degree of freedom less than those


@pytest.mark.parametrize(
    ("passed", "of", "n", "quantile", "reason"),
    [
        ([1] * 10, [1] * 10, 10, T9, "all agree: n is the number of clusters"),
        ([0] * 10, [1] * 10, 10, T9, "and at the other end"),
        ([4] * 10, [4] * 10, 10, T9, "however many rows a cluster has"),
        # 48 rows in clusters of 1, 3 and 8 weigh like 48^2 / 296 = 7.78 clusters alike (Kish).
        ([1, 3, 8] * 4, [1, 3, 8] * 4, 12, stats.t.ppf(0.975, 48**2 / 296 - 1), "and however they differ in that"),
        ([0.5] * 10, [1] * 10, 10, T9, "they agree on a half as well"),
        ([1, 2] * 5, [2, 4] * 5, 10, T8, "which may be of different numbers of rows"),
        ([1, 1, 0, 1, 0, 1, 1, 0, 1, 0], [1] * 10, 9, T9, "one row each: the variance has one degree less than rows"),
        ([1, 0] * 5 + [0] * 9, [1, 1] * 5 + [0] * 9, 9, T9, "a cluster with nothing is none"),
        # One of 12 checklists of 4 fails one criterion. Between clusters, 48 rows count as 47; half of what is missing
        # to one unit a cluster is added, since one cluster dissents.
        ([4] * 11 + [3], [4] * 12, 1 / (1 / 47 + (1 / 12 - 1 / 47) / 2), T11, "a single dissenter proves little"),
    ],
)
def test_a_clustered_share_by_hand(
    passed: list[float], of: list[float], n: float, quantile: float, reason: str
) -> None:
    found = clustered_share(passed, of)
    assert found == pytest.approx(wilson_at(sum(passed) / sum(of), n, quantile), abs=1e-9), reason


def test_a_perfect_score_is_not_certain() -> None:
    found = clustered_share([1.0] * 10, [1.0] * 10)
    assert found == (pytest.approx(10 / (10 + T9**2)), 1.0)
    assert clustered_share([0.0] * 10, [1.0] * 10) == (0.0, pytest.approx(1 - 10 / (10 + T9**2)))


@pytest.mark.parametrize(
    ("passed", "of", "reason"),
    [
        ([], [], "no clusters"),
        ([0.0] * 20, [0.0] * 20, "nothing to divide by"),
        ([1.0] * 9, [1.0] * 9, "nine clusters"),
        ([1.0] * 9 + [0.0] * 9, [1.0] * 9 + [0.0] * 9, "nine that hold anything"),
    ],
)
def test_few_clusters_give_no_interval(passed: list[float], of: list[float], reason: str) -> None:
    assert clustered_share(passed, of) is None, reason


def test_rows_that_go_together_count_less() -> None:
    random = np.random.default_rng(5)
    of = random.integers(1, 9, size=40)
    apart, together = random.binomial(of, 0.7), np.where(np.arange(40) % 10 < 7, of, 0)
    one, other = clustered_share(apart.tolist(), of.tolist()), clustered_share(together.tolist(), of.tolist())
    assert one is not None
    assert other is not None
    assert other[1] - other[0] > 1.5 * (one[1] - one[0])


def test_shares_that_make_up_for_one_another_are_not_certain() -> None:
    """Two judges who disagree on every document: each document's mean is one half, and nothing varies."""
    passed = np.array([[[1.0, 0.0]], [[0.0, 1.0]]] * 6)
    assert clustered_mean(passed, np.ones((12, 1, 2))) == pytest.approx(wilson_at(0.5, 12, T11)), "as where all agree"


def test_means_of_shares_by_hand() -> None:
    # Ten clusters right in all they have: TPR and TNR of 1. All hold a yes, five a no.
    of = np.ones((10, 1, 2))
    assert clustered_mean(of, of) == (pytest.approx(10 / (10 + T9**2)), 1.0), "n is the number of clusters"
    of[5:, 0, 1] = 0
    n = 1 / (0.5 / 10**0.5 + 0.5 / 5**0.5) ** 2
    # Five clusters weigh 0.5 / 10 + 0.5 / 5, five 0.5 / 10: together like 1 / 0.125 = 8 clusters alike.
    t7 = stats.t.ppf(0.975, 1 / (5 * 0.15**2 + 5 * 0.05**2) - 1)
    assert clustered_mean(of, of) == (pytest.approx(n / (n + t7**2)), 1.0), "fewer clusters say less of the rarer class"
    of[1:, 0, 1] = 0
    assert clustered_mean(of, of) is None, "one cluster alone says nothing of its class"
    # Four strata of three clusters each, all right: 12 units, and 12 - 4 degrees of freedom.
    of = np.zeros((12, 4, 1))
    of[range(12), [0, 1, 2, 3] * 3, 0] = 1
    assert clustered_mean(of, of) == (pytest.approx(12 / (12 + 2.3060041350333**2)), 1.0)
    of[0, 0], of[0, 1] = 0, 1
    of[4, 0], of[4, 1] = 0, 1
    assert clustered_mean(of, of) is None, "a stratum of one cluster"
    assert clustered_mean(np.zeros((12, 2, 1)), np.stack([np.ones((12, 1)), np.zeros((12, 1))], 1)) is None, (
        "an empty one"
    )
