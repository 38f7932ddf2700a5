"""Correlations of scores and of ranks, and the line through points."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from scipy.stats import kendalltau, linregress, spearmanr
from scipy.stats import t as student

from truebench_hf.errors import UserError
from truebench_hf.metrics import ranks as module
from truebench_hf.metrics.ranks import correlation, rank_agreement, trend

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
    assert correlation(x, y, "spearman").value == (rho if rho is None else pytest.approx(rho)), reason
    assert correlation(x, y, "kendall").value == (tau if tau is None else pytest.approx(tau)), reason


def test_an_endless_score_has_a_rank_but_no_distance() -> None:
    assert correlation([1, math.inf, 3], [1, 9, 3], "spearman").value == pytest.approx(1)
    found = correlation([1, math.inf, 3], [1, 9, 3], "pearson")
    assert (found.value, found.n, found.unscored) == (pytest.approx(1), 2, 1)


def test_counts() -> None:
    found = correlation([1, 2, 3, None], [1, 2, 3, 4], "spearman")
    assert (found.n, found.unscored) == (3, 1)


@pytest.mark.parametrize("seed", range(3))
def test_against_scipy_with_ties(seed: int) -> None:
    from scipy import stats

    rng = random.Random(seed)
    x = [rng.randint(1, 8) for _ in range(50)]
    y = [value + rng.randint(-4, 4) for value in x]
    ranks = stats.pearsonr(stats.rankdata(x), stats.rankdata(y))
    assert correlation(x, y, "spearman").value == pytest.approx(ranks.statistic)
    tau = stats.kendalltau(x, y)
    assert correlation(x, y, "kendall").value == pytest.approx(tau.statistic)


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
    found = correlation(x, y, "pearson")
    assert found.value == (r if r is None else pytest.approx(r)), reason
    assert (found.n, found.unscored) == (n, len(x) - n), reason


def test_unequal_columns_are_refused() -> None:
    with pytest.raises(UserError, match="x has 1, y has 2"):
        correlation([1], [1, 2], "spearman")


@pytest.mark.parametrize(
    ("x", "y", "n", "left_out", "rho", "reason"),
    [
        ([], [], 0, 0, None, "empty"),
        ([1.0], [2.0], 1, 0, None, "one model"),
        ([1.0] * 12, list(range(12)), 12, 0, None, "all tied in one"),
        ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0], 3, 0, 0.5, "1 - 6 x 2 / (3 x 8)"),
        ([1.0, None, 3.0], [1.0, 2.0, math.nan], 1, 2, None, "who lacks one of the two is left out"),
        (list(range(9)), list(range(9)), 9, 0, 1.0, "nine models: no interval"),
        (list(range(12)), list(range(12)), 12, 0, 1.0, "equal orders: every draw says 1"),
    ],
)
def test_no_interval(
    x: list[float | None], y: list[float | None], n: int, left_out: int, rho: float | None, reason: str
) -> None:
    found = rank_agreement(x, y)
    assert (found["spearman"].n, found["spearman"].unscored) == (n, left_out), reason
    assert found["spearman"].value == (rho if rho is None else pytest.approx(rho)), reason
    assert (found["spearman"].ci95, found["kendall"].ci95) == (None, None), reason


def test_every_draw_has_the_coefficients_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties in the data, and those that drawing a model twice makes."""
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 9, 15).astype(float), rng.integers(0, 9, 15).astype(float)
    seen: list[np.ndarray] = []
    monkeypatch.setattr(module, "percentiles", lambda values: seen.append(values) or (0.0, 1.0))
    monkeypatch.setattr(module, "_DRAWS", 40)
    rank_agreement(x.tolist(), y.tolist(), seed=5)
    drawn = np.random.default_rng(5).multinomial(15, np.full(15, 1 / 15), size=40)
    for place, counts in enumerate(drawn):
        a, b = np.repeat(x, counts), np.repeat(y, counts)
        assert seen[0][place] == pytest.approx(spearmanr(a, b).statistic)
        assert seen[1][place] == pytest.approx(kendalltau(a, b).statistic)


def test_an_interval_holds_its_coefficient_and_shrinks_with_more_models() -> None:
    rng = np.random.default_rng(0)
    widths = []
    for n in (12, 48, 192):
        x = rng.normal(size=n)
        found = rank_agreement(x.tolist(), (x + rng.normal(size=n)).tolist())
        for value, ends in (
            (found["spearman"].value, found["spearman"].ci95), (found["kendall"].value, found["kendall"].ci95),
        ):  # fmt: skip
            assert value is not None
            assert ends is not None
            assert ends[0] < value < ends[1]
        assert found["spearman"].ci95 is not None
        widths.append(found["spearman"].ci95[1] - found["spearman"].ci95[0])
    assert widths[0] > widths[1] > widths[2]


def test_unequal_columns_are_refused_of_rank_agreement() -> None:
    with pytest.raises(UserError, match="x has 1, y has 2"):
        rank_agreement([1.0], [1.0, 2.0])


@pytest.mark.slow
@pytest.mark.parametrize("n", [10, 31])
@pytest.mark.parametrize("r", [0.5, 0.95])
def test_intervals_cover_the_truth(n: int, r: float) -> None:
    rng = np.random.default_rng(7)
    truths = 6 / math.pi * math.asin(r / 2), 2 / math.pi * math.asin(r)  # of normal scores
    held = [0, 0]
    for _ in range(200):
        x, noise = rng.normal(size=(2, n))
        found = rank_agreement(x.tolist(), (r * x + math.sqrt(1 - r * r) * noise).tolist())
        for place, ends in enumerate((found["spearman"].ci95, found["kendall"].ci95)):
            held[place] += ends is not None and ends[0] <= truths[place] <= ends[1]
    assert min(held) / 200 >= 0.91, held


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [([], [], "empty"), ([1.0], [1.0], "one"), ([1.0, 2.0], [1.0, 2.0], "two lie on a line, whatever they are"),
     ([3.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], "no line stands upright")],
)  # fmt: skip
def test_no_line(x: list[float], y: list[float], reason: str) -> None:
    assert trend(x, y) is None, reason


def test_by_hand_of_trend() -> None:
    # Through (0, 0), (1, 2), (2, 1): slope 1/2, intercept 1/2, gaps -1/2, 1, -1/2; R squared 1 - 1.5 / 2.
    found = trend([0, 1, 2], [0, 2, 1])
    assert (found.slope, found.intercept, found.r2) == pytest.approx((0.5, 0.5, 0.25))
    assert found.p_values == (None,) * 3  # three points leave nothing to judge one by


@pytest.mark.parametrize(
    ("y", "r2", "reason"), [([5.0] * 6, None, "constant"), ([2.0 * x + 1 for x in range(6)], 1.0, "on the line")]
)
def test_a_perfect_line_has_nobody_off_it(y: list[float], r2: float | None, reason: str) -> None:
    found = trend(list(range(6)), y)
    assert found.r2 == (r2 if r2 is None else pytest.approx(r2)), reason
    assert found.p_values == (None,) * 6, reason


def test_against_scipy_and_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    x = rng.normal(60, 15, 31)
    y = 0.8 * x + rng.normal(0, 4, 31)
    y[7] -= 25
    found, library = trend(x.tolist(), y.tolist()), linregress(x, y)
    assert (found.slope, found.intercept) == pytest.approx((library.slope, library.intercept))
    assert found.r2 == pytest.approx(library.rvalue**2)
    studentised = sm.OLS(y, sm.add_constant(x)).fit().get_influence().resid_studentized_external
    assert list(found.p_values) == pytest.approx((2 * student.sf(abs(studentised), 28)).tolist())
    assert min(range(31), key=lambda place: found.p_values[place] or 1) == 7


def test_one_point_alone_at_its_x_draws_the_line_to_itself() -> None:
    found = trend([0.0, 0.0, 0.0, 0.0, 9.0], [1.0, 2.0, 3.0, 4.0, 50.0])
    assert found.p_values[-1] is None


def test_unequal_columns_are_refused_of_trend() -> None:
    with pytest.raises(UserError, match="parallel"):
        trend([1.0], [])
