"""Pass rates at the average style: against least squares written out whole, by hand, and over many drawn boards."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from truebench_hf.metrics.style_adjusted import Style, relative, style_adjusted

Passed = dict[str, dict[str, float | None]]
Styles = dict[str, dict[str, Style]]


def _drawn(seed: int, *, effect: float, instances: int = 400) -> tuple[Passed, Styles]:
    """Three equal models of which A writes twice as long as C; passing depends on an instance and on relative length."""
    chance = random.Random(seed)
    passed, styles = Passed(), Styles()
    ease = [chance.uniform(0.4, 0.6) for _ in range(instances)]
    lengths = {"A": 2.0, "B": 1.4, "C": 1.0}
    written = {m: [chance.lognormvariate(0, 0.5) * 500 * base for _ in ease] for m, base in lengths.items()}
    shown = relative(np.array([[[x] for x in written[m]] for m in lengths]))[:, :, 0]
    for place, m in enumerate(lengths):
        shares = [p + effect * x for p, x in zip(ease, shown[place], strict=True)]
        passed[m] = {str(i): float(chance.random() < p) for i, p in enumerate(shares)}
        styles[m] = {str(i): (length, 0, 0, 0) for i, length in enumerate(written[m])}
    return passed, styles


@pytest.mark.slow  # statsmodels takes seconds to import
def test_it_is_least_squares_with_errors_clustered_by_instance() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    passed, styles = _drawn(3, effect=0.4)
    models, ids = list(passed), list(passed["A"])
    x = relative(np.array([[styles[m][i] for i in ids] for m in models]))[:, :, 0]
    y = np.array([[passed[m][i] for i in ids] for m in models])
    dummies = np.kron(np.eye(len(models)), np.ones((len(ids), 1)))
    design = np.column_stack([dummies, x.ravel() - x.mean()])
    fitted = statsmodels.OLS(y.ravel(), design).fit(
        cov_type="cluster", cov_kwds={"groups": np.tile(np.arange(len(ids)), len(models)), "use_correction": False}
    )
    found = style_adjusted(passed, styles)
    assert [found[m].value for m in models] == pytest.approx(fitted.params[:3].tolist(), abs=1e-9)
    widths = [(high - low) / 2 for m in models if (ends := found[m].ci95) for low, high in [ends]]
    assert widths == pytest.approx((1.96 * fitted.bse[:3]).tolist(), rel=0.02), "Wilson's of the same variance"


def test_equal_models_come_together_once_length_is_taken_out() -> None:
    passed, styles = _drawn(5, effect=0.6, instances=2000)
    plain = {m: sum(v for v in of.values() if v) / len(of) for m, of in passed.items()}
    assert plain["A"] - plain["C"] > 0.12, "the longer one is ahead"
    found = style_adjusted(passed, styles)
    assert found["A"].value == pytest.approx(found["C"].value, abs=0.05)


def test_by_hand_where_style_says_nothing() -> None:
    same: Style = (100, 1, 2, 0)
    passed: Passed = {"A": {str(i): float(i < 15) for i in range(20)}, "B": {str(i): float(i < 5) for i in range(20)}}
    found = style_adjusted(passed, {m: {str(i): same for i in range(20)} for m in passed})
    assert [found[m].value for m in "AB"] == [0.75, 0.25], "all answers look alike: nothing to adjust"
    assert [found[m].n for m in "AB"] == [20, 20]


def test_only_what_all_have_counts_and_too_little_gives_nothing() -> None:
    passed, styles = _drawn(1, effect=0.2, instances=30)
    passed["A"]["0"] = None
    del styles["B"]["1"]
    found = style_adjusted(passed, styles)
    assert {(score.n, score.unscored) for score in found.values()} == {(28, 2)}
    few = {m: dict(list(of.items())[:9]) for m, of in passed.items()}
    assert style_adjusted(few, styles) == {}, "nine instances"
    assert style_adjusted({"A": passed["A"]}, styles) == {}, "nobody to stand beside"
    assert style_adjusted({}, {}) == {}


def test_a_model_that_always_writes_otherwise_is_not_adjusted() -> None:
    chance = random.Random(2)
    passed: Passed = {m: {str(i): float(chance.random() < 0.5) for i in range(200)} for m in "ABC"}
    styles: Styles = {
        m: {str(i): (size * (1 + 0.001 * chance.random()), 0, 0, 0) for i in range(200)}
        for m, size in (("A", 10.0), ("B", 1000.0), ("C", 1010.0))
    }
    assert style_adjusted(passed, styles)["A"].value is None, "length and the model cannot be seen apart"


def test_nobody_uses_a_feature_or_one_alone_does() -> None:
    raw: Any = np.array([[[0.0, 4.0]], [[0.0, 0.0]]])
    assert relative(raw).tolist() == [[[0.0, pytest.approx(1 / 3)]], [[0.0, -1.0]]]


@pytest.mark.slow
def test_the_interval_covers() -> None:
    """The truth is the mean over many boards; 95 % intervals hold it in 93 % and more."""
    boards = [style_adjusted(*_drawn(seed, effect=0.3, instances=150)) for seed in range(400)]
    for model in "ABC":
        truth = sum(found[model].value or 0 for found in boards) / len(boards)
        held = sum(low <= truth <= high for found in boards if (ends := found[model].ci95) for low, high in [ends])
        assert held / len(boards) >= 0.93, model
