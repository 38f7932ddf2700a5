"""Calibration: its measures, calibrators and thresholds, by hand and against scikit-learn."""

from __future__ import annotations

import json
import math
import random
from dataclasses import asdict
from typing import Any

import pytest

from truebench_hf.errors import UserError
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


def sample(seed: int, n: int = 400) -> tuple[list[float | None], list[str | None]]:
    """Probabilities, and labels that come true a little less often than they say."""
    rng = random.Random(seed)
    probabilities = [round(rng.random(), 2) for _ in range(n)]
    return list(probabilities), ["yes" if rng.random() < 0.2 + 0.6 * p else "no" for p in probabilities]


def test_by_hand() -> None:
    found = calibration([0.9, 0.8, 0.3, 0.4], ["yes", "no", "no", "yes"], n_bins=2)
    assert found.brier == pytest.approx((0.01 + 0.64 + 0.09 + 0.36) / 4)
    # Lower bin says 0.35, upper says 0.85; in both one of two is yes.
    assert found.ece == pytest.approx(0.5 * 0.15 + 0.5 * 0.35)
    assert [entry.count for entry in found.bins] == [2, 2]
    assert found.bins[1].mean_probability == pytest.approx(0.85)
    assert (found.bins[1].lower, found.bins[1].upper, found.bins[1].share_yes) == (0.5, 1.0, 0.5)


def test_bins_are_closed_above_and_the_first_holds_zero() -> None:
    bins = reliability_bins([(0.0, False), (0.25, True), (0.5, True), (0.51, True), (1.0, True)], n_bins=4)
    assert [entry.count for entry in bins] == [2, 1, 1, 1]


@pytest.mark.parametrize("seed", range(3))
def test_against_scikit_learn(seed: int) -> None:
    from sklearn.calibration import calibration_curve
    from sklearn.metrics import brier_score_loss

    probabilities, labels = sample(seed)
    truth = [label == "yes" for label in labels]
    found = calibration(probabilities, labels)
    assert found.brier == pytest.approx(brier_score_loss(truth, probabilities))
    shares, means = calibration_curve(truth, probabilities, n_bins=10)
    assert [entry.share_yes for entry in found.bins if entry.count] == pytest.approx(shares.tolist())
    assert [entry.mean_probability for entry in found.bins if entry.count] == pytest.approx(means.tolist())
    assert sum(entry.count for entry in found.bins) == found.n == 400


@pytest.mark.parametrize(
    ("probabilities", "labels", "brier", "ece", "left_out", "reason"),
    [
        ([], [], None, None, 0, "empty"),
        ([0.5, None], [None, "yes"], None, None, 2, "no row has both"),
        ([0.7], ["yes"], 0.09, 0.3, 0, "a single row"),
        ([1.0, 1.0], ["yes", "yes"], 0.0, 0.0, 0, "one class, right and sure"),
        ([0.0, 0.0], ["yes", "yes"], 1.0, 1.0, 0, "one class, wrong and sure"),
        ([0.5] * 4, ["yes", "no"] * 2, 0.25, 0.0, 0, "all tied: knows nothing, and says so"),
        ([0.8, 0.1, 0.2], ["yes", "unknown", None], 0.04, 0.2, 2, "undecided labels are left out"),
    ],
)
def test_edges(
    probabilities: list[float | None],
    labels: list[str | None],
    brier: float | None,
    ece: float | None,
    left_out: int,
    reason: str,
) -> None:
    found = calibration(probabilities, labels)
    assert found.brier == (brier if brier is None else pytest.approx(brier)), reason
    assert found.ece == (ece if ece is None else pytest.approx(ece)), reason
    assert found.left_out == left_out, reason
    assert all(entry.share_yes is None for entry in found.bins if not entry.count), reason


@pytest.mark.parametrize(
    ("probabilities", "labels", "value", "score", "reason"),
    [
        ([0.1, 0.4, 0.6, 0.9], ["no", "no", "yes", "yes"], 0.5, 1.0, "halfway between the classes"),
        ([0.80, 0.90], ["no", "yes"], 0.85, 1.0, "a judge that says yes too easily"),
        ([0.5, 0.5], ["no", "yes"], 0.5, 0.5, "all tied: nothing beats a guess"),
        ([0.2, 0.8], ["yes", "no"], 0.2, 0.5, "an inverted judge: yes to all is the best there is"),
        ([0.1, 0.2, 0.45, 0.6], ["no", "yes", "no", "yes"], 0.525, 0.75, "0.15 is as good, 0.525 nearer to 0.5"),
        ([0.3, 0.7, 0.9, None], ["no", "yes", None, "yes"], 0.5, 1.0, "incomplete rows are left out"),
    ],
)
def test_best_threshold(
    probabilities: list[float | None], labels: list[str | None], value: float, score: float, reason: str
) -> None:
    assert best_threshold(probabilities, labels) == pytest.approx((value, score)), reason


@pytest.mark.parametrize("labels", [[], ["yes"], ["yes", "yes"], [None, "no"]])
def test_no_threshold_without_both_labels(labels: list[str | None]) -> None:
    assert best_threshold([0.5] * len(labels), labels) is None


@pytest.mark.parametrize("seed", range(5))
def test_best_threshold_against_trying_all(seed: int) -> None:
    from sklearn.metrics import balanced_accuracy_score

    probabilities, labels = sample(seed, n=60)
    found = best_threshold(probabilities, labels)
    assert found is not None

    def score(threshold: float) -> float:
        predicted = ["yes" if p is not None and p >= threshold else "no" for p in probabilities]
        return float(balanced_accuracy_score(labels, predicted))

    assert score(found[0]) == pytest.approx(found[1])
    assert found[1] == pytest.approx(max(score(step / 200) for step in range(1, 201, 2)))


@pytest.mark.parametrize("low", [0.3, math.nextafter(0.3, 1)])  # the middle rounds up for one, down for the other
def test_threshold_between_neighbouring_floats_still_separates(low: float) -> None:
    high = math.nextafter(low, 1)
    found = best_threshold([low, high], ["no", "yes"])
    assert low < found[0] <= high


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError, match=r"probability 1.2 in row 1 is outside 0\.\.1"):
        calibration([0.5, 1.2], ["yes", "no"])
    with pytest.raises(UserError, match="nan in row 0"):
        calibration([float("nan")], ["yes"])
    with pytest.raises(UserError, match="probabilities has 1, labels has 0"):
        calibration([0.5], [])


KINDS = sorted(FITTERS)


def overconfident(seed: int, n: int = 500) -> tuple[list[float], list[str]]:
    """A judge whose log-odds are three times too large and lean to yes."""
    rng = random.Random(seed)
    odds = [rng.gauss(0, 1.5) for _ in range(n)]
    labels = ["yes" if rng.random() < 1 / (1 + math.exp(-x)) else "no" for x in odds]
    return [1 / (1 + math.exp(-3 * x - 1)) for x in odds], labels


def test_temperature_by_hand() -> None:
    # Says 0.9 or 0.1 and is right 3 times of 4: log 9 / T = log 3, so T = 2.
    found = fit("temperature", [0.9] * 4 + [0.1] * 4, ["yes"] * 3 + ["no"] * 4 + ["yes"])
    assert 1 / found.slope == pytest.approx(2, rel=1e-4)
    assert found.apply(0.9) == pytest.approx(0.75, rel=1e-4)
    assert found.apply(0.5) == pytest.approx(0.5)


@pytest.mark.parametrize("seed", range(3))
def test_temperature_against_scikit_learn(seed: int) -> None:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class Judge(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """Gives back the log-odds it is handed."""

        classes_ = (0, 1)

        def fit(self, x: Any, y: Any) -> Judge:
            return self

        def decision_function(self, x: Any) -> Any:
            return x[:, 0]

        def predict(self, x: Any) -> Any:
            return (x[:, 0] > 0).astype(int)

    import numpy as np

    # Beyond log-odds of 13.8 we cut where scikit-learn does not.
    rows = [row for row in zip(*overconfident(seed), strict=True) if 1e-6 < row[0] < 1 - 1e-6]
    probabilities, labels = [p for p, _ in rows], [label for _, label in rows]
    judge = Judge()
    judge.classes_ = np.array([0, 1])  # type: ignore[assignment]
    odds = np.log(np.array(probabilities) / (1 - np.array(probabilities))).reshape(-1, 1)
    library = CalibratedClassifierCV(FrozenEstimator(judge), method="temperature", ensemble=False)
    library.fit(odds, np.array([label == "yes" for label in labels], dtype=int))
    found = fit("temperature", probabilities, labels)
    assert found is not None
    wanted = library.predict_proba(odds)[:, 1]
    assert [found.apply(p) for p in probabilities] == pytest.approx(wanted.tolist(), abs=1e-3)


def test_platt_by_hand() -> None:
    # Two distinct probabilities are fitted exactly, to the mean softened target: (3 x 5/6 + 1/6) / 4 = 2/3.
    found = fit("platt", [0.8] * 4 + [0.2] * 4, ["yes"] * 3 + ["no"] * 4 + ["yes"])
    assert found.apply(0.8) == pytest.approx(2 / 3, abs=1e-5)
    assert found.apply(0.2) == pytest.approx(1 / 3, abs=1e-5)


def test_platt_solves_its_equations_and_undoes_a_known_distortion() -> None:
    probabilities, labels = overconfident(0, n=4000)
    found = fit("platt", probabilities, labels)
    assert found is not None
    yes, no = labels.count("yes"), labels.count("no")
    rest = [
        ((yes + 1) / (yes + 2) if label == "yes" else 1 / (no + 2)) - found.apply(p)
        for p, label in zip(probabilities, labels, strict=True)
    ]
    odds = [math.log(p / (1 - p)) for p in probabilities]
    # At the least log loss the errors sum to zero, plain and weighted by the log-odds.
    assert sum(rest) / 4000 == pytest.approx(0, abs=1e-5)
    assert sum(error * x for error, x in zip(rest, odds, strict=True)) / 4000 == pytest.approx(0, abs=1e-4)
    # True log-odds are (x - 1) / 3.
    assert found.slope == pytest.approx(1 / 3, abs=0.05)
    assert found.intercept == pytest.approx(-1 / 3, abs=0.1)


def test_isotonic_by_hand() -> None:
    # 0.2 and 0.3 are in the wrong order and share their mean.
    found = fit("isotonic", [0.1, 0.2, 0.3, 0.4], ["no", "yes", "no", "yes"])
    assert found is not None
    wanted = {0.0: 0.0, 0.1: 0.0, 0.2: 0.5, 0.25: 0.5, 0.3: 0.5, 0.35: 0.75, 0.4: 1.0, 1.0: 1.0}
    assert {p: pytest.approx(found.apply(p)) for p in wanted} == wanted


def test_isotonic_knots_reproduce_scikit_learn() -> None:
    from sklearn.isotonic import IsotonicRegression

    probabilities, labels = overconfident(1)
    model = IsotonicRegression(out_of_bounds="clip").fit(probabilities, [label == "yes" for label in labels])
    found = fit("isotonic", probabilities, labels)
    assert found is not None
    grid = [step / 200 for step in range(201)]
    assert [found.apply(p) for p in grid] == pytest.approx(model.predict(grid).tolist(), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_calibration_helps_on_rows_it_has_not_seen(kind: str) -> None:
    probabilities, labels = overconfident(2, n=1000)
    after, _ = cross_fit(kind, probabilities, labels, groups=[row // 4 for row in range(1000)])
    raw, better = calibration(probabilities, labels), calibration(after, labels)
    assert better.left_out == 0
    assert (better.ece or 1) < (raw.ece or 0) / 2
    assert (better.brier or 1) < (raw.brier or 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("probabilities", "labels", "reason"),
    [
        ([], [], "empty"),
        ([0.6], ["yes"], "one row"),
        ([0.6, 0.7], ["no", "no"], "one class"),
        ([0.6, 0.7], ["no", None], "one class once the undecided are left out"),
    ],
)
def test_nothing_to_fit(kind: str, probabilities: list[float], labels: list[str | None], reason: str) -> None:
    assert fit(kind, probabilities, labels) is None, reason


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("probabilities", "labels", "reason"),
    [
        ([0.0, 0.1, 0.9, 1.0], ["no", "no", "yes", "yes"], "perfectly separated, certain ones among them"),
        ([0.5] * 4, ["no", "yes"] * 2, "all tied"),
        ([0.1, 0.9], ["yes", "no"], "inverted"),
        ([1.0, 0.0], ["no", "yes"], "certain and wrong"),
    ],
)
def test_extremes_stay_finite(kind: str, probabilities: list[float], labels: list[str], reason: str) -> None:
    found = fit(kind, probabilities, labels)
    assert all(0 <= found.apply(step / 10) <= 1 for step in range(11)), reason
    assert Calibrator.of_fields(json.loads(json.dumps(asdict(found)))) == found, reason


def test_temperature_limits() -> None:
    separated, inverted = fit("temperature", [0.4, 0.6], ["no", "yes"]), fit("temperature", [0.4, 0.6], ["yes", "no"])
    assert separated is not None
    assert inverted is not None
    assert 1 / separated.slope == pytest.approx(0.01, rel=1e-3)
    assert 1 / inverted.slope == pytest.approx(100, rel=1e-3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "not a calibrator"),
        ("{}", "not a calibrator"),  # no kind
        ('{"kind": "platt", "slop": 2}', "slop"),
        ('{"kind": "plat"}', "did you mean platt"),
        ('{"kind": 3}', "unknown calibrator"),
        ('{"kind": "platt", "slope": NaN}', "no fit gives"),
        ('{"kind": "platt", "slope": "2"}', "not a calibrator"),
        ('{"kind": "isotonic"}', "must have knots"),
        ('{"kind": "platt", "knots": [[0, 1]]}', "must have knots if it is isotonic, and only then"),
        ('{"kind": "isotonic", "knots": [[0.5, 0.1], [0.2, 0.4]]}', "ascend"),
        ('{"kind": "isotonic", "knots": [[0.2, 0.4], [0.5, 1.4]]}', "ascend within"),
    ],
)
def test_bad_json_is_refused(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Calibrator.of_fields(json.loads(text))


def test_cross_fit_never_lets_a_group_calibrate_itself() -> None:
    # Group x alone says the opposite of all others; calibrated by them, its 0.9 must not come out low.
    probabilities = [0.9, 0.1] * 20 + [0.9, 0.1] * 20
    labels = ["yes", "no"] * 20 + ["no", "yes"] * 20
    groups = [f"g{row // 4}" for row in range(40)] + ["x"] * 40
    after, _ = cross_fit("isotonic", probabilities, labels, groups)
    assert after[-2] == 1.0
    assert after[-1] == 0.0


def test_cross_fit_is_repeatable_and_keeps_places() -> None:
    probabilities: list[float | None] = list(overconfident(4, n=60)[0])
    labels: list[str | None] = list(overconfident(4, n=60)[1])
    probabilities[5], labels[6] = None, None
    groups = [row // 3 for row in range(60)]
    after, _ = cross_fit("platt", probabilities, labels, groups, seed=1)
    assert after == cross_fit("platt", probabilities, labels, groups, seed=1)[0]
    assert after != cross_fit("platt", probabilities, labels, groups, seed=2)[0]
    assert [row for row, p in enumerate(after) if p is None] == [5]  # an unlabelled row is calibrated all the same


@pytest.mark.parametrize(
    ("probabilities", "labels", "groups", "reason"),
    [
        ([], [], [], "empty"),
        ([0.2, 0.8], ["no", "yes"], ["a", "a"], "one group has no other to learn from"),
        ([0.2, 0.8], ["no", "yes"], ["a", "b"], "each of two groups sees one label only"),
    ],
)
def test_cross_fit_without_enough_groups(
    probabilities: list[float], labels: list[str], groups: list[str], reason: str
) -> None:
    assert cross_fit("platt", probabilities, labels, groups) == ([None] * len(labels), [None] * len(labels)), reason


def test_bad_input_is_refused_of_calibrators() -> None:
    with pytest.raises(UserError, match="unknown calibrator 'beta'"):
        fit("beta", [0.5], ["yes"])
    with pytest.raises(UserError, match="groups has 1"):
        cross_fit("platt", [0.5, 0.6], ["yes", "no"], ["a"])
    with pytest.raises(UserError, match=r"outside 0\.\.1"):
        Calibrator("platt").apply(1.5)
