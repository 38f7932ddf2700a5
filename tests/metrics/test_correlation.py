from __future__ import annotations

import math
import random

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.correlation import kendall, pearson, spearman

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(
    ("x", "y", "rho", "tau", "reason"),
    [
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8, 2 / 3, "1 - 6 x 2 / 60; 5 pairs agree, 1 does not, of 6"),
        ([1, 2, 2], [1, 2, 3], math.sqrt(0.75), 2 / math.sqrt(6), "a tie: ranks 1, 2.5, 2.5; 2 of sqrt(2 x 3)"),
        ([1, 2, 3], [30, 20, 10], -1.0, -1.0, "opposite order"),
        ([1, 2], [5, 9], 1.0, 1.0, "two points always lie on a line"),
        ([], [], None, None, "empty"),
        ([1], [1], None, None, "one pair has no order"),
        ([1, 1, 1], [1, 2, 3], None, None, "a constant column"),
        ([1, None, 3], [1, 2, None], None, None, "one pair is left"),
        ([1, 2, None, 3], [1, 2, 0, 3], 1.0, 1.0, "the incomplete pair would have broken the order"),
        ([1, 2, math.nan, 3], [1, 2, 0, 3], 1.0, 1.0, "NaN is missing too"),
    ],
)
def test_by_hand(
    x: list[float | None], y: list[float | None], rho: float | None, tau: float | None, reason: str
) -> None:
    assert spearman(x, y).value == (rho if rho is None else pytest.approx(rho)), reason
    assert kendall(x, y).value == (tau if tau is None else pytest.approx(tau)), reason


def test_an_endless_score_has_a_rank_but_no_distance() -> None:
    assert spearman([1, math.inf, 3], [1, 9, 3]).value == pytest.approx(1)
    found = pearson([1, math.inf, 3], [1, 9, 3])
    assert (found.value, found.n, found.left_out) == (pytest.approx(1), 2, 1)


def test_counts_and_p_values() -> None:
    found = spearman([1, 2, 3, None], [1, 2, 3, 4])
    assert (found.n, found.left_out) == (3, 1)
    assert spearman([1, 2], [1, 2]).p_value is None  # no degrees of freedom
    assert spearman([1, 1, 1], [1, 2, 3]).p_value is None
    # All 4! orders are equally likely: 2 of 24 are as extreme as this one.
    assert kendall([1, 2, 3, 4], [1, 2, 3, 4]).p_value == pytest.approx(2 / 24)


@pytest.mark.parametrize("seed", range(3))
def test_against_scipy_with_ties(seed: int) -> None:
    from scipy import stats

    rng = random.Random(seed)
    x = [rng.randint(1, 8) for _ in range(50)]
    y = [value + rng.randint(-4, 4) for value in x]
    ranks = stats.pearsonr(stats.rankdata(x), stats.rankdata(y))
    assert spearman(x, y).value == pytest.approx(ranks.statistic)
    assert spearman(x, y).p_value == pytest.approx(ranks.pvalue)
    tau = stats.kendalltau(x, y)
    assert kendall(x, y).value == pytest.approx(tau.statistic)
    assert kendall(x, y).p_value == pytest.approx(tau.pvalue)


@pytest.mark.parametrize(
    ("x", "y", "r", "n", "reason"),
    [
        ([1, 2, 3], [1, 2, 9], 8 / math.sqrt(2 * 38), 3, "products sum to 8, squares to 2 and 38"),
        ([1, 2, 3, None], [6, 4, 2, 0], -1.0, 3, "a falling line; the incomplete pair is left out"),
        ([5, 5, 5], [1, 2, 3], None, 3, "constant"),
        ([0.3, 0.1 + 0.2, 0.3], [1, 2, 3], None, 3, "constant but for rounding"),
        ([1], [1], None, 1, "one pair"),
        ([], [], None, 0, "empty"),
    ],
)
def test_pearson(x: list[float | None], y: list[float | None], r: float | None, n: int, reason: str) -> None:
    found = pearson(x, y)
    assert found.value == (r if r is None else pytest.approx(r)), reason
    assert (found.n, found.left_out) == (n, len(x) - n), reason


def test_unequal_columns_are_refused() -> None:
    with pytest.raises(UserError, match="x has 1, y has 2"):
        spearman([1], [1, 2])
