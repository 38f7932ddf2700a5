"""Bootstrap intervals over clusters: known cases, what they refuse, and their coverage by simulation."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from truebench_hf.errors import UserError
from truebench_hf.metrics import intervals
from truebench_hf.metrics.intervals import clustered_share, resampled_difference, resampled_ratio


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
