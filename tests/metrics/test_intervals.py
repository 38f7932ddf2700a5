"""Intervals: against the libraries that define them, over clusters by hand, by bootstrap, and their coverage."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy import stats
from scipy.stats import beta

from truebench_hf.errors import UserError
from truebench_hf.metrics import intervals
from truebench_hf.metrics.intervals import (
    clustered_mean,
    clustered_share,
    effective_interval,
    resampled_difference,
    resampled_ratio,
    wilson,
)


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


T9 = stats.t.ppf(0.975, 9)  # Student's t: of clusters alike, one degree of freedom less than those


@pytest.mark.parametrize(
    ("passed", "of", "n", "freedom", "reason"),
    [
        ([1] * 10, [1] * 10, 10, 9, "all agree: n is the number of clusters"),
        ([0] * 10, [1] * 10, 10, 9, "and at the other end"),
        ([4] * 10, [4] * 10, 10, 9, "however many rows a cluster has"),
        # 48 rows in clusters of 1, 3 and 8 weigh like 48^2 / 296 = 7.78 clusters alike (Kish).
        ([1, 3, 8] * 4, [1, 3, 8] * 4, 12, 48**2 / 296 - 1, "and however they differ in that"),
        ([0.5] * 10, [1] * 10, 10, 9, "they agree on a half as well"),
        ([1, 2] * 5, [2, 4] * 5, 10, 8, "which may be of different numbers of rows"),
        ([1, 1, 0, 1, 0, 1, 1, 0, 1, 0], [1] * 10, 9, 9, "one row each: the variance has one degree less than rows"),
        ([1, 0] * 5 + [0] * 9, [1, 1] * 5 + [0] * 9, 9, 9, "a cluster with nothing is none"),
        # One of 12 checklists of 4 fails one criterion. Between clusters, 48 rows count as 47; half of what is missing
        # to one unit a cluster is added, since one cluster dissents.
        ([4] * 11 + [3], [4] * 12, 1 / (1 / 47 + (1 / 12 - 1 / 47) / 2), 11, "a single dissenter proves little"),
    ],
)
def test_a_clustered_share_by_hand(passed: list[float], of: list[float], n: float, freedom: float, reason: str) -> None:
    found = clustered_share(passed, of)
    assert found == pytest.approx(effective_interval(sum(passed) / sum(of), n, freedom), abs=1e-9), reason


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
    assert other[1] - other[0] > 1.5 * (one[1] - one[0])


def test_shares_that_make_up_for_one_another_are_not_certain() -> None:
    """Two judges who disagree on every document: each document's mean is one half, and nothing varies."""
    passed = np.array([[[1.0, 0.0]], [[0.0, 1.0]]] * 6)
    assert clustered_mean(passed, np.ones((12, 1, 2))) == pytest.approx(effective_interval(0.5, 12, 11)), (
        "as where all agree"
    )


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


def test_it_is_never_narrower_than_the_library_s_bootstrap_of_a_mean() -> None:
    values = np.random.default_rng(1).integers(0, 2, 40).astype(float)
    theirs = scipy.stats.bootstrap((values,), np.mean, method="percentile", n_resamples=4000, random_state=1)
    low, high = resampled_ratio(list(values), [1.0] * 40) or (0.0, 0.0)
    assert low <= theirs.confidence_interval.low + 0.02
    assert high >= theirs.confidence_interval.high - 0.02


@pytest.mark.parametrize(
    ("top", "bottom", "found", "why"),
    [
        ([], [], None, "nothing"),
        ([1.0] * 9, [1.0] * 9, None, "fewer than ten clusters"),
        ([0.0] * 12, [0.0] * 12, None, "nothing counts"),
        ([0.0] * 3 + [1.0] * 9, [0.0] * 3 + [1.0] * 9, None, "nine of them count"),
    ],
)
def test_none(top: list[float], bottom: list[float], found: None, why: str) -> None:
    assert resampled_ratio(top, bottom) is found, why


def test_all_alike_claims_no_certainty() -> None:
    assert resampled_ratio([1.0] * 20, [1.0] * 20) == clustered_share([1.0] * 20, [1.0] * 20)
    assert resampled_difference(([1.0] * 20, [1.0] * 20), ([1.0] * 20, [1.0] * 20)) is None


def test_a_difference_draws_the_same_clusters_for_both() -> None:
    """What hardness of clusters adds to both cancels out: the interval is far shorter than that of each."""
    draw = np.random.default_rng(2)
    hard = draw.random(60)
    first, second = [(hard > 0.5) * 1.0, ((hard > 0.5) | (draw.random(60) < 0.1)) * 1.0]
    ones = [1.0] * 60
    low, high = resampled_difference((list(second), ones), (list(first), ones)) or (0.0, 0.0)
    single = resampled_ratio(list(first), ones) or (0.0, 0.0)
    assert 0 <= low <= high
    assert high - low < (single[1] - single[0]) * 0.8


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(UserError):
        resampled_ratio([1.0], [1.0, 1.0])


@pytest.mark.slow
@pytest.mark.parametrize(("clusters", "share"), [(12, 0.8), (50, 0.5), (50, 0.95)])
def test_coverage_of_a_ratio_over_conversations(clusters: int, share: float) -> None:
    """Up to eight branches a conversation, whose shares vary between conversations."""
    draw = np.random.default_rng(clusters)
    held = 0
    for _ in range(400):
        sizes = draw.integers(0, 9, clusters)
        rates = draw.beta(4 * share, 4 * (1 - share), clusters)
        right = draw.binomial(sizes, rates)
        found = resampled_ratio(list(map(float, right)), list(map(float, sizes)))
        held += found is None or found[0] <= share <= found[1]
    print(f"{clusters} conversations, share {share}: {held / 4:.1f} %")
    assert held / 400 >= 0.92


def test_many_clusters_are_drawn_some_draws_at_a_time_and_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    ratios = [([1.0, 0.0] * 30, [1.0] * 60), ([1.0] * 60, [1.0, 2.0] * 30)]
    whole = intervals.drawn_ratios(ratios, seed=3)
    monkeypatch.setattr(intervals, "_KEPT", 7)  # 466 draws at a time, the last time 272
    parts = intervals.drawn_ratios(ratios, seed=3)
    for one, other in zip(whole, parts, strict=True):
        assert one.shape == other.shape == (intervals.DRAWS,)
        assert np.allclose(one, other, rtol=0, atol=1e-12), "no draw is another one"


CLUSTERS, SHARES, CORRELATIONS = (10, 12, 20, 40), (0.5, 0.8, 0.95), (0.0, 0.3, 0.8, 1.0)
REPEATS = 2000
Drawn = tuple[Any, Any]  # what passed, and of how many: arrays of shape (repeats, clusters, strata, shares)


def chances(share: float, correlation: float, lots: Any) -> Any:
    """How likely a row of each cluster is right: beta distributed, so that rows of one cluster correlate."""
    if correlation == 0:
        return np.full_like(lots, share)
    if correlation == 1:
        return (lots < share).astype(float)
    a, b = share * (1 / correlation - 1), (1 - share) * (1 / correlation - 1)
    return beta.ppf(lots, a, b)


# How many rows a cluster has: checklists of 1 to 8 criteria, and skewed sizes, where a few clusters hold most rows.
SIZES: dict[str, Callable[[Any, Any], Any]] = {
    "1 to 8": lambda random, shape: random.integers(1, 9, shape),
    "geometric, mean 3": lambda random, shape: random.geometric(0.3, shape),
    "geometric, mean 7": lambda random, shape: random.geometric(0.15, shape),
    "Pareto": lambda random, shape: np.minimum(np.ceil(2 * random.pareto(1.2, shape)) + 1, 200).astype(int),
}


def criteria(
    random: Any, clusters: int, share: float, correlation: float, *, sizes: str = "1 to 8", soft: bool = False
) -> Drawn:
    """Checklists of so many criteria; `soft` takes the mean of their shares in place of the ratio of sums."""
    shape = (REPEATS, clusters, 1, 1)
    of = SIZES[sizes](random, shape)
    passed = random.binomial(of, chances(share, correlation, random.random(shape)))
    return (passed / of, np.ones(shape)) if soft else (passed, of)


def judged(
    random: Any,
    clusters: int,
    share: float,
    correlation: float,
    *,
    sizes: str = "1 to 8",
    strata: int = 1,
    mode: str = "",
) -> Drawn:
    """Rubrics of instructions, so many each, by category: the right ones, or by class (`mode`: how those correlate)."""
    nested = np.arange(clusters)[:, None] % strata == np.arange(strata)
    rows = SIZES[sizes](random, (REPEATS, clusters, strata)) * nested
    lots = random.random(rows.shape)
    right = chances(share, correlation, lots)
    if not mode:
        return random.binomial(rows, right)[..., None], rows[..., None]
    yes = random.binomial(rows, 0.6)
    others = {"alike": lots, "free": random.random(rows.shape), "against": 1 - lots}[mode]
    of = np.stack([yes, rows - yes], axis=-1)
    passed = random.binomial(of, np.stack([right, chances(share, correlation, others)], axis=-1))
    defined = (of.sum(axis=1) > 0).all(axis=(1, 2))
    return passed[defined], of[defined]


KINDS: dict[str, Callable[..., Drawn]] = {
    **{f"DRFR, {name} criteria": partial(criteria, sizes=name) for name in SIZES},
    "soft score": partial(criteria, soft=True),
    "balanced accuracy": partial(judged, mode="alike"),
    "balanced accuracy, classes apart": partial(judged, mode="free"),
    "balanced accuracy, lenient or strict": partial(judged, mode="against"),
    "balanced accuracy, geometric, mean 7": partial(judged, sizes="geometric, mean 7", mode="alike"),
    "accuracy, mean of 4 categories": partial(judged, strata=4),
    "accuracy, mean of 4 categories, geometric, mean 7": partial(judged, sizes="geometric, mean 7", strata=4),
    "balanced accuracy, mean of 4 categories": partial(judged, strata=4, mode="alike"),
}


def coverage(drawn: Drawn, share: float) -> tuple[float, float]:
    """(share of the intervals that hold the truth, their mean width).

    One that is not given is not counted: with four categories in ten clusters a class may have rows in only one.
    """
    ends = [clustered_mean(passed, of) for passed, of in zip(*drawn, strict=True)]
    given = np.array([pair for pair in ends if pair is not None])
    return float(((given[:, 0] <= share) & (share <= given[:, 1])).mean()), float((given[:, 1] - given[:, 0]).mean())


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_the_truth_from_ten_clusters_on(kind: str) -> None:
    random = np.random.default_rng(20)
    found = {
        (clusters, share, correlation): coverage(KINDS[kind](random, clusters, share, correlation), share)
        for clusters in CLUSTERS
        for share in SHARES
        for correlation in CORRELATIONS
    }
    print(f"\n{kind}: coverage %, width in points; by share and correlation within a cluster")
    print("clusters", *(f"{share:5}/{correlation}" for share in SHARES for correlation in CORRELATIONS), sep="  ")
    for clusters in CLUSTERS:
        cells = [found[clusters, share, rho] for share in SHARES for rho in CORRELATIONS]
        print(f"{clusters:8}", *(f"{100 * held:5.1f} {100 * width:2.0f}" for held, width in cells), sep="  ")
    assert min(held for held, _ in found.values()) >= 0.93
