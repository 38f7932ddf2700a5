from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import linregress
from scipy.stats import t as student

from truebench_hf.errors import UserError
from truebench_hf.metrics.correlation import trend

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [([], [], "empty"), ([1.0], [1.0], "one"), ([1.0, 2.0], [1.0, 2.0], "two lie on a line, whatever they are"),
     ([3.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0], "no line stands upright")],
)  # fmt: skip
def test_no_line(x: list[float], y: list[float], reason: str) -> None:
    assert trend(x, y) is None, reason


def test_by_hand() -> None:
    # Through (0, 0), (1, 2), (2, 1): slope 1/2, intercept 1/2, gaps -1/2, 1, -1/2; R squared 1 - 1.5 / 2.
    found = trend([0, 1, 2], [0, 2, 1])
    assert found is not None
    assert (found.slope, found.intercept, found.r2) == pytest.approx((0.5, 0.5, 0.25))
    assert [point.gap for point in found.points] == pytest.approx([-0.5, 1.0, -0.5])
    assert [point.p_value for point in found.points] == [None] * 3  # three points leave nothing to judge one by


@pytest.mark.parametrize(
    ("y", "r2", "reason"), [([5.0] * 6, None, "constant"), ([2.0 * x + 1 for x in range(6)], 1.0, "on the line")]
)
def test_a_perfect_line_has_nobody_off_it(y: list[float], r2: float | None, reason: str) -> None:
    found = trend(list(range(6)), y)
    assert found is not None
    assert found.r2 == (r2 if r2 is None else pytest.approx(r2)), reason
    assert all(point.p_value is None and point.gap == pytest.approx(0) for point in found.points), reason


def test_against_scipy_and_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(3)
    x = rng.normal(60, 15, 31)
    y = 0.8 * x + rng.normal(0, 4, 31)
    y[7] -= 25
    found, library = trend(x.tolist(), y.tolist()), linregress(x, y)
    assert found is not None
    assert (found.slope, found.intercept) == pytest.approx((library.slope, library.intercept))
    assert found.r2 == pytest.approx(library.rvalue**2)
    studentised = sm.OLS(y, sm.add_constant(x)).fit().get_influence().resid_studentized_external
    assert [point.p_value for point in found.points] == pytest.approx((2 * student.sf(abs(studentised), 28)).tolist())
    assert min(range(31), key=lambda place: found.points[place].p_value or 1) == 7


def test_one_point_alone_at_its_x_draws_the_line_to_itself() -> None:
    found = trend([0.0, 0.0, 0.0, 0.0, 9.0], [1.0, 2.0, 3.0, 4.0, 50.0])
    assert found is not None
    assert found.points[-1].gap == pytest.approx(0)
    assert found.points[-1].p_value is None


def test_unequal_columns_are_refused() -> None:
    with pytest.raises(UserError, match="parallel"):
        trend([1.0], [])
