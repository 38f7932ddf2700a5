from __future__ import annotations

import math
import random

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.calibration import best_threshold, calibration, reliability_bins

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
    found = best_threshold(probabilities, labels)
    assert found is not None
    assert found.value == pytest.approx(value), reason
    assert found.balanced_accuracy == pytest.approx(score), reason


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

    assert score(found.value) == pytest.approx(found.balanced_accuracy)
    assert found.balanced_accuracy == pytest.approx(max(score(step / 200) for step in range(1, 201, 2)))


@pytest.mark.parametrize("low", [0.3, math.nextafter(0.3, 1)])  # the middle rounds up for one, down for the other
def test_threshold_between_neighbouring_floats_still_separates(low: float) -> None:
    high = math.nextafter(low, 1)
    found = best_threshold([low, high], ["no", "yes"])
    assert found is not None
    assert low < found.value <= high


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError, match=r"probability 1.2 in row 1 is outside 0\.\.1"):
        calibration([0.5, 1.2], ["yes", "no"])
    with pytest.raises(UserError, match="nan in row 0"):
        calibration([float("nan")], ["yes"])
    with pytest.raises(UserError, match="probabilities has 1, labels has 0"):
        calibration([0.5], [])
