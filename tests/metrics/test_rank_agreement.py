from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kendalltau, spearmanr

from truebench_hf.errors import UserError
from truebench_hf.metrics import correlation as module
from truebench_hf.metrics.correlation import rank_agreement

pytestmark = pytest.mark.filterwarnings("error")


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
    assert (found.n, found.spearman.left_out) == (n, left_out), reason
    assert found.spearman.value == (rho if rho is None else pytest.approx(rho)), reason
    assert (found.spearman_interval, found.kendall_interval) == (None, None), reason


def test_every_draw_has_the_coefficients_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties in the data, and those that drawing a model twice makes."""
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 9, 15).astype(float), rng.integers(0, 9, 15).astype(float)
    seen: list[np.ndarray] = []
    monkeypatch.setattr(module, "_percentiles", lambda values: seen.append(values) or (0.0, 1.0))
    monkeypatch.setattr(module, "DRAWS", 40)
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
            (found.spearman.value, found.spearman_interval), (found.kendall.value, found.kendall_interval),
        ):  # fmt: skip
            assert value is not None
            assert ends is not None
            assert ends[0] < value < ends[1]
        assert found.spearman_interval is not None
        widths.append(found.spearman_interval[1] - found.spearman_interval[0])
    assert widths[0] > widths[1] > widths[2]


def test_unequal_columns_are_refused() -> None:
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
        for place, ends in enumerate((found.spearman_interval, found.kendall_interval)):
            held[place] += ends is not None and ends[0] <= truths[place] <= ends[1]
    assert min(held) / 200 >= 0.91, held
