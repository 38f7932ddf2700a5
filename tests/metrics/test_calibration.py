"""Calibration: its measures, calibrators and thresholds, by hand and against scikit-learn."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from tests.support.worked import check, worked
from truebench_hf.metrics.calibration import (
    FITTERS,
    Calibrator,
    best_threshold,
    calibration,
    cross_fit,
    fit,
    reliability_bins,
)

pytestmark = pytest.mark.filterwarnings("error")

KINDS = sorted(FITTERS)
Y, N, U, X = "yes", "no", "unknown", None


def sample(seed: int, n: int = 400) -> tuple[list[float], list[str]]:
    """Probabilities, and labels that come true a little less often than they say."""
    rng = random.Random(seed)
    probabilities = [round(rng.random(), 2) for _ in range(n)]
    return probabilities, ["yes" if rng.random() < 0.2 + 0.6 * p else "no" for p in probabilities]


def overconfident(seed: int, n: int = 500) -> tuple[list[float], list[str]]:
    """A judge whose log-odds are three times too large and lean to yes."""
    rng = random.Random(seed)
    odds = [rng.gauss(0, 1.5) for _ in range(n)]
    labels = ["yes" if rng.random() < 1 / (1 + math.exp(-x)) else "no" for x in odds]
    return [1 / (1 + math.exp(-3 * x - 1)) for x in odds], labels


def counts(rows: Any, n_bins: int) -> list[int]:
    return [bin_.count for bin_ in reliability_bins(rows, n_bins)]


def applied(kind: str, rows: Any, labels: Any, probabilities: list[float]) -> list[float]:
    calibrator = fit(kind, rows, labels)
    return [calibrator.apply(p) for p in probabilities]


def temperature(probabilities: Any, labels: Any) -> float:
    return 1 / fit("temperature", probabilities, labels).slope


def near(value: Any, tolerance: float) -> Any:
    return pytest.approx(value, rel=tolerance)


@worked(
    # Lower bin says 0.35, upper says 0.85; in both one of two is yes.
    (lambda p, labels: calibration(p, labels, n_bins=2), ([0.9, 0.8, 0.3, 0.4], [Y, N, N, Y]), {
        "brier": (0.01 + 0.64 + 0.09 + 0.36) / 4, "ece": 0.5 * 0.15 + 0.5 * 0.35,
        "bins": [{"count": 2}, {"count": 2, "mean_probability": 0.85, "lower": 0.5, "upper": 1.0, "share_yes": 0.5}],
    }, "two bins"),
    (calibration, ([], []), {"brier": None, "ece": None, "left_out": 0}, "empty"),
    (calibration, ([0.5, X], [X, Y]), {"brier": None, "ece": None, "left_out": 2}, "no row has both"),
    (calibration, ([1.0, 1.0], [Y, Y]), {"brier": 0.0, "ece": 0.0}, "one class, right and sure"),
    (calibration, ([0.5] * 4, [Y, N] * 2), {"brier": 0.25, "ece": 0.0}, "all tied: knows nothing, and says so"),
    (calibration, ([0.8, 0.1, 0.2], [Y, U, X]),
     {"brier": 0.04, "ece": 0.2, "left_out": 2, "bins": [{"share_yes": None}] * 7 + [{"share_yes": 1}]
      + [{"share_yes": None}] * 2}, "undecided labels are left out, and empty bins have no share"),
    (counts, ([(0.0, False), (0.25, True), (0.5, True), (0.51, True), (1.0, True)], 4), [2, 1, 1, 1],
     "bins are closed above and the first holds zero"),
    (best_threshold, ([0.1, 0.4, 0.6, 0.9], [N, N, Y, Y]), (0.5, 1.0), "halfway between the classes"),
    (best_threshold, ([0.80, 0.90], [N, Y]), (0.85, 1.0), "a judge that says yes too easily"),
    (best_threshold, ([0.2, 0.8], [Y, N]), (0.2, 0.5), "an inverted judge: yes to all is the best there is"),
    (best_threshold, ([0.1, 0.2, 0.45, 0.6], [N, Y, N, Y]), (0.525, 0.75), "0.15 is as good, 0.525 nearer to 0.5"),
    (best_threshold, ([0.3, 0.7, 0.9, X], [N, Y, X, Y]), (0.5, 1.0), "incomplete rows are left out"),
    (best_threshold, ([], []), None, "no rows"),
    (best_threshold, ([0.5, 0.5], [X, N]), None, "nor without both once the undecided are left out"),
    # Says 0.9 or 0.1 and is right 3 times of 4: log 9 / T = log 3, so T = 2.
    (temperature, ([0.9] * 4 + [0.1] * 4, [Y] * 3 + [N] * 4 + [Y]), near(2, 1e-4), "temperature"),
    (applied, ("temperature", [0.9] * 4 + [0.1] * 4, [Y] * 3 + [N] * 4 + [Y], [0.9, 0.5]), near([0.75, 0.5], 1e-4),
     "temperature moves away from neither side"),
    (temperature, ([0.4, 0.6], [Y, N]), near(100, 1e-3), "inverted: the highest"),
    # Two distinct probabilities are fitted exactly, to the mean softened target: (3 x 5/6 + 1/6) / 4 = 2/3.
    (applied, ("platt", [0.8] * 4 + [0.2] * 4, [Y] * 3 + [N] * 4 + [Y], [0.8, 0.2]), near([2 / 3, 1 / 3], 1e-4), "Platt"),
    # 0.2 and 0.3 are in the wrong order and share their mean.
    (applied, ("isotonic", [0.1, 0.2, 0.3, 0.4], [N, Y, N, Y], [0.0, 0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 1.0]),
     [0.0, 0.0, 0.5, 0.5, 0.5, 0.75, 1.0, 1.0], "isotonic"),
    *((fit, (kind, p, labels), None, f"nothing to fit for {kind}: {why}") for kind in KINDS for p, labels, why in (
        ([], [], "empty"), ([0.6], [Y], "one row"), ([0.6, 0.7], [N, N], "one class"), ([0.6, 0.7], [N, X], "undecided"),
    )),
    (cross_fit, ("platt", [], [], []), ([], []), "empty"),
    (cross_fit, ("platt", [0.2, 0.8], [N, Y], ["a", "a"]), ([X] * 2, [X] * 2), "one group has none to learn from"),
    (cross_fit, ("platt", [0.2, 0.8], [N, Y], ["a", "b"]), ([X] * 2, [X] * 2), "each of two sees one label only"),
)  # fmt: skip
def test_by_hand(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


@pytest.mark.parametrize("seed", range(3))
def test_measures_and_thresholds_against_scikit_learn(seed: int) -> None:
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import balanced_accuracy_score, brier_score_loss

    probabilities, labels = sample(seed)
    truth = [label == "yes" for label in labels]
    result = calibration(probabilities, labels)
    assert result.brier == pytest.approx(brier_score_loss(truth, probabilities))
    shares, means = calibration_curve(truth, probabilities, n_bins=10)
    filled = [bin_ for bin_ in result.bins if bin_.count]
    assert [bin_.share_yes for bin_ in filled] == pytest.approx(shares.tolist())
    assert [bin_.mean_probability for bin_ in filled] == pytest.approx(means.tolist())
    assert sum(bin_.count for bin_ in result.bins) == result.n == 400

    few, labels = sample(seed, n=60)

    def score(threshold: float) -> float:
        return float(balanced_accuracy_score(labels, ["yes" if p >= threshold else "no" for p in few]))

    threshold, value = best_threshold(few, labels)
    assert score(threshold) == pytest.approx(value)
    assert value == pytest.approx(max(score(step / 200) for step in range(1, 201, 2))), "of all tried"


@pytest.mark.parametrize("low", [0.3, math.nextafter(0.3, 1)])  # the middle rounds up for one, down for the other
def test_threshold_between_neighbouring_floats_still_separates(low: float) -> None:
    high = math.nextafter(low, 1)
    assert low < best_threshold([low, high], ["no", "yes"])[0] <= high


def test_temperature_against_scikit_learn() -> None:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Judge(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """Gives back the log-odds it is handed."""

        def __init__(self) -> None:
            self.classes_ = np.array([0, 1])

        def fit(self, x: Any, y: Any) -> Judge:
            return self

        def decision_function(self, x: Any) -> Any:
            return x[:, 0]

        def predict(self, x: Any) -> Any:
            return (x[:, 0] > 0).astype(int)

    for seed in range(3):
        # Beyond log-odds of 13.8 we cut where scikit-learn does not.
        rows = [row for row in zip(*overconfident(seed), strict=True) if 1e-6 < row[0] < 1 - 1e-6]
        probabilities, labels = [p for p, _ in rows], [label for _, label in rows]
        odds = np.log(np.array(probabilities) / (1 - np.array(probabilities))).reshape(-1, 1)
        library = CalibratedClassifierCV(FrozenEstimator(Judge()), method="temperature", ensemble=False)
        library.fit(odds, np.array([label == "yes" for label in labels], dtype=int))
        wanted = library.predict_proba(odds)[:, 1].tolist()
        assert applied("temperature", probabilities, labels, probabilities) == pytest.approx(wanted, abs=1e-3)


def test_isotonic_knots_reproduce_scikit_learn() -> None:
    from sklearn.isotonic import IsotonicRegression

    probabilities, labels = overconfident(1)
    model = IsotonicRegression(out_of_bounds="clip").fit(probabilities, [label == "yes" for label in labels])
    grid = [step / 200 for step in range(201)]
    assert applied("isotonic", probabilities, labels, grid) == pytest.approx(model.predict(grid).tolist(), abs=1e-9)


def test_platt_solves_its_equations_and_undoes_a_known_distortion() -> None:
    probabilities, labels = overconfident(0, n=4000)
    calibrator = fit("platt", probabilities, labels)
    yes, no = labels.count("yes"), labels.count("no")
    target = {"yes": (yes + 1) / (yes + 2), "no": 1 / (no + 2)}
    errors = [target[label] - calibrator.apply(p) for p, label in zip(probabilities, labels, strict=True)]
    # At the least log loss the errors sum to zero, plain and weighted by the log-odds.
    assert sum(errors) / 4000 == pytest.approx(0, abs=1e-5)
    weighted = sum(error * math.log(p / (1 - p)) for error, p in zip(errors, probabilities, strict=True))
    assert weighted / 4000 == pytest.approx(0, abs=1e-4)
    # True log-odds are (x - 1) / 3.
    assert (calibrator.slope, calibrator.intercept) == pytest.approx((1 / 3, -1 / 3), abs=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_calibration_helps_on_rows_it_has_not_seen_and_stays_finite(kind: str) -> None:
    probabilities, labels = overconfident(2, n=1000)
    after, _ = cross_fit(kind, probabilities, labels, groups=[row // 4 for row in range(1000)])
    raw, better = calibration(probabilities, labels), calibration(after, labels)
    assert better.left_out == 0
    assert better.ece < raw.ece / 2
    assert better.brier < raw.brier
    for extreme, truth, why in (
        ([0.0, 0.1, 0.9, 1.0], [N, N, Y, Y], "perfectly separated, certain ones among them"),
        ([0.5] * 4, [N, Y] * 2, "all tied"),
        ([0.1, 0.9], [Y, N], "inverted"),
        ([1.0, 0.0], [N, Y], "certain and wrong"),
    ):
        calibrator = fit(kind, extreme, truth)
        assert all(0 <= calibrator.apply(step / 10) <= 1 for step in range(11)), why
        assert Calibrator.of_fields(json.loads(json.dumps(asdict(calibrator)))) == calibrator, why


def test_cross_fit_never_lets_a_group_calibrate_itself() -> None:
    # Group x alone says the opposite of all others; calibrated by them, its 0.9 must not come out low.
    labels = [Y, N] * 20 + [N, Y] * 20
    after, _ = cross_fit("isotonic", [0.9, 0.1] * 40, labels, [f"g{row // 4}" for row in range(40)] + ["x"] * 40)
    assert after[-2:] == [1.0, 0.0]


def test_cross_fit_is_repeatable_and_keeps_places() -> None:
    probabilities, labels = (list[Any](column) for column in overconfident(4, n=60))
    probabilities[5], labels[6] = None, None
    first, again, other = (
        cross_fit("platt", probabilities, labels, [row // 3 for row in range(60)], seed=seed)[0] for seed in (1, 1, 2)
    )
    assert first == again != other
    assert [row for row, p in enumerate(first) if p is None] == [5], "an unlabelled row is calibrated all the same"
