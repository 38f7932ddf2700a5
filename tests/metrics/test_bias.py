from __future__ import annotations

import math

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.bias import bias_corrected
from truebench_hf.metrics.prediction_powered import prediction_powered

pytestmark = pytest.mark.filterwarnings("error")

STUDIES = 300


def verdicts(yes: int, no: int) -> list[str]:
    return ["yes"] * yes + ["no"] * no


def labelled(tp: int, fn: int, tn: int, fp: int) -> tuple[list[str], list[str]]:
    """Gold and predicted labels with these cell counts."""
    return verdicts(tp + fn, tn + fp), ["yes"] * tp + ["no"] * (fn + tn) + ["yes"] * fp


def test_rogan_gladen_by_hand() -> None:
    # p = 0.6, s = 0.9, c = 0.8: (0.6 + 0.8 - 1) / 0.7 = 4/7.
    found = bias_corrected(verdicts(600, 400), *labelled(tp=90, fn=10, tn=80, fp=20))
    assert found.estimate == pytest.approx(4 / 7)
    assert (found.observed, found.sensitivity, found.specificity) == (0.6, 0.9, 0.8)
    assert (found.n, found.n0, found.n1, found.withheld) == (1000, 100, 100, None)
    assert found.youden_j == pytest.approx(0.7)
    # J's variance is 0.09 / 100 + 0.16 / 100, its standard error 0.05.
    assert found.j_lower == pytest.approx(0.7 - 1.959964 * 0.05)
    error = math.sqrt((0.24 / 1000 + (3 / 7) ** 2 * 0.16 / 100 + (4 / 7) ** 2 * 0.09 / 100) / 0.49)
    assert found.ci95 == pytest.approx((4 / 7 - 1.959964 * error, 4 / 7 + 1.959964 * error))


def test_a_faultless_sample_gets_pseudo_counts() -> None:
    found = bias_corrected(verdicts(50, 50), *labelled(tp=40, fn=0, tn=40, fp=0))
    assert found.sensitivity == found.specificity == pytest.approx(41 / 42)
    assert found.estimate == pytest.approx(0.5)  # p = 1/2 and s = c leave one half in place
    plain = 1.959964 * math.sqrt(0.25 / 100)
    assert found.ci95 is not None
    assert found.ci95[1] - 0.5 > plain  # the judge's errors, though none was seen, widen the interval


@pytest.mark.parametrize(
    ("cells", "used"),
    [
        ((35, 5, 35, 5), 35 / 40),  # five errors are enough to go by
        ((36, 4, 35, 5), 37 / 42),  # four are not
    ],
)
def test_pseudo_counts_begin_below_five(cells: tuple[int, int, int, int], used: float) -> None:
    assert bias_corrected(verdicts(50, 50), *labelled(*cells)).sensitivity == pytest.approx(used)


@pytest.mark.parametrize(
    ("yes", "no", "estimate", "reason"),
    [
        (17, 83, 0.0, "somewhat fewer yes than the judge's false alarms explain"),
        (83, 17, 1.0, "somewhat more yes than its sensitivity allows"),
    ],
)
def test_estimate_and_interval_stay_within_0_and_1(yes: int, no: int, estimate: float, reason: str) -> None:
    found = bias_corrected(verdicts(yes, no), *labelled(tp=80, fn=20, tn=80, fp=20))
    assert found.estimate == estimate, reason
    assert found.ci95 is not None
    assert 0 <= found.ci95[0] <= estimate <= found.ci95[1] <= 1, reason
    assert found.ci95[0] < found.ci95[1], "an interval without width would claim to know"


@pytest.mark.parametrize(("yes", "no"), [(0, 100), (100, 0), (970, 30)])  # raw estimates of -0.33, 1.33 and 1.28
def test_a_run_that_its_labels_cannot_explain_is_withheld(yes: int, no: int) -> None:
    found = bias_corrected(verdicts(yes, no), *labelled(tp=80, fn=20, tn=80, fp=20))
    assert (found.estimate, found.ci95) == (None, None)
    assert found.withheld is not None
    assert "contradict each other" in found.withheld


@pytest.mark.parametrize(
    ("cells", "reason", "message"),
    [
        ((0, 0, 0, 0), "no labels", "0 labelled rows truly pass"),
        ((50, 10, 0, 0), "all gold labels are yes", "60 labelled rows truly pass and 0 truly fail"),
        ((25, 4, 50, 10), "29 truly pass", "29 labelled rows truly pass and 60 truly fail, 30 of each"),
        ((50, 50, 50, 50), "the judge guesses", "Youden's J is 0.00"),
        ((65, 35, 70, 30), "J is 0.35, but may well be below 0.3", "lower bound 0.2"),
        ((20, 80, 20, 80), "the judge is worse than a guess", "Youden's J is -0.60"),
    ],
)
def test_correction_is_withheld(cells: tuple[int, int, int, int], reason: str, message: str) -> None:
    found = bias_corrected(verdicts(60, 40), *labelled(*cells))
    assert (found.estimate, found.ci95) == (None, None), reason
    assert found.withheld is not None
    assert message in found.withheld
    assert found.observed == 0.6, "the uncorrected share is there all the same"
    assert (found.youden_j is None) == (0 in (cells[0] + cells[1], cells[2] + cells[3])), reason


def test_thirty_of_each_are_enough() -> None:
    assert bias_corrected(verdicts(60, 40), *labelled(26, 4, 26, 4)).withheld is None


def test_labels_of_other_models_show_j_but_no_correction() -> None:
    found = bias_corrected(verdicts(60, 40), *labelled(90, 10, 80, 20), labels_from_run=False)
    assert (found.estimate, found.ci95) == (None, None)
    assert found.youden_j == pytest.approx(0.7)
    assert "other models" in (found.withheld or "")


def test_undecided_rows_are_counted_and_enter_nothing() -> None:
    gold, predicted = labelled(90, 10, 80, 20)
    clean = bias_corrected(verdicts(60, 40), gold, predicted)
    found = bias_corrected([*verdicts(60, 40), None, "unknown"], [*gold, None, "yes"], [*predicted, "yes", None])
    assert (found.estimate, found.ci95) == (clean.estimate, clean.ci95)
    assert (found.n, found.undecided, found.unusable) == (100, 2, 2)


@pytest.mark.parametrize("judged", [[], [None, None]])
def test_nothing_decided_in_the_run(judged: list[str | None]) -> None:
    found = bias_corrected(judged, *labelled(90, 10, 80, 20))
    assert (found.estimate, found.observed, found.withheld) == (None, None, "no row of the run is decided")


def test_criteria_of_one_instance_count_as_dependent() -> None:
    # 100 instances with ten like verdicts each: ten times the variance of independent rows, times 100 / 99.
    judged = [verdict for row in range(100) for verdict in ["yes" if row % 2 else "no"] * 10]
    groups = [row for row in range(100) for _ in range(10)]
    sample = labelled(90, 10, 80, 20)
    apart, together = bias_corrected(judged, *sample), bias_corrected(judged, *sample, groups=groups)
    assert apart.ci95 is not None
    assert together.ci95 is not None

    def variance(ci95: tuple[float, float]) -> float:
        return ((ci95[1] - ci95[0]) / 2 / 1.959964) ** 2 * 0.49

    added = variance(together.ci95) - variance(apart.ci95)
    assert added == pytest.approx(0.25 / 1000 * (10 * 100 / 99 - 1), rel=1e-4)
    assert together.estimate == apart.estimate
    one = bias_corrected(judged, *sample, groups=["only"] * 1000)
    assert "all rows are of one instance" in (one.withheld or "")


def partly_labelled(cells: tuple[int, int, int, int], yes: int, no: int) -> tuple[list[str], list[str | None]]:
    """A run's verdicts and its gold labels: labelled rows in these cells, then this many rows without a label."""
    gold, predicted = labelled(*cells)
    return predicted + verdicts(yes, no), [*gold, *[None] * (yes + no)]


def test_prediction_powered_by_hand() -> None:
    # The judge passes 60 of 100; in the sample of 40 it is 8 times too strict and 5 times too lenient: + 3/40.
    found = prediction_powered(*partly_labelled((15, 8, 12, 5), yes=40, no=20))
    assert (found.observed, found.rectifier) == (0.6, 3 / 40)
    assert found.estimate == pytest.approx(0.675)
    error = math.sqrt(0.675 * 0.325 / 100 + (1 / 40 - 1 / 100) * (13 / 40 - (3 / 40) ** 2))
    assert found.ci95 is not None
    # The wider of two estimates of one variance, so this one is a floor and nearly reached.
    assert found.ci95[0] <= 0.675 - 1.959964 * error
    assert found.ci95 == pytest.approx((0.675 - 1.959964 * error, 0.675 + 1.959964 * error), abs=0.03)
    assert (found.n, found.n_labelled, found.withheld) == (100, 40, None)


def test_prediction_powered_with_every_row_labelled_is_the_mean_label() -> None:
    found = prediction_powered(*partly_labelled((24, 16, 54, 6), yes=0, no=0))
    assert found.estimate == pytest.approx(0.4)
    error = math.sqrt(0.4 * 0.6 / 99)  # nothing left to guess: the interval of a plain share, n - 1 for n
    assert found.ci95 == pytest.approx((0.4 - 1.959964 * error, 0.4 + 1.959964 * error))


def test_prediction_powered_does_not_trust_a_faultless_sample_blindly() -> None:
    found = prediction_powered(*partly_labelled((20, 0, 20, 0), yes=480, no=480))
    assert found.estimate == 0.5
    assert found.ci95 is not None
    assert found.ci95[1] - 0.5 > 1.2 * 1.959964 * math.sqrt(0.25 / 1000)


def test_prediction_powered_widens_for_dependent_rows() -> None:
    judged, gold = partly_labelled((25, 5, 25, 5), yes=470, no=470)
    pairs = sorted(zip(judged, gold, strict=True), key=lambda row: row[0])
    run, labels = [row[0] for row in pairs], [row[1] for row in pairs]
    apart = prediction_powered(run, labels)
    together = prediction_powered(run, labels, groups=[row // 10 for row in range(1000)])
    assert apart.ci95 is not None
    assert together.ci95 is not None
    assert together.estimate == apart.estimate
    assert together.ci95[1] - together.ci95[0] > 1.2 * (apart.ci95[1] - apart.ci95[0])
    assert "one instance" in (prediction_powered(run, labels, groups=["only"] * 1000).withheld or "")


def test_prediction_powered_counts_what_cannot_be_used() -> None:
    judged, gold = partly_labelled((15, 8, 12, 5), yes=40, no=20)
    found = prediction_powered([*judged, None, None], [*gold, "yes", None])
    assert (found.n, found.undecided, found.n_labelled, found.unusable) == (100, 2, 40, 1)
    assert found.estimate == pytest.approx(0.675)


@pytest.mark.parametrize(
    ("cells", "yes", "message"),
    [
        ((10, 5, 10, 4), 60, "29 labelled rows, 30 are needed"),
        ((0, 0, 0, 0), 60, "0 labelled rows"),
        ((0, 0, 0, 0), 0, "0 labelled rows"),
    ],
)
def test_prediction_powered_is_withheld(cells: tuple[int, int, int, int], yes: int, message: str) -> None:
    found = prediction_powered(*partly_labelled(cells, yes, 0))
    assert (found.estimate, found.ci95) == (None, None)
    assert message in (found.withheld or "")


def test_prediction_powered_stays_within_0_and_1() -> None:
    found = prediction_powered(*partly_labelled((20, 15, 5, 0), yes=99, no=1))
    assert found.estimate == 1.0
    assert found.ci95 is not None
    assert found.ci95[1] == 1.0


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError, match="judged has 1, gold has 2"):
        prediction_powered(["yes"], ["yes", "no"])
    with pytest.raises(UserError, match="gold has 1, predicted has 0"):
        bias_corrected(["yes"], ["yes"], [])
    with pytest.raises(UserError, match="judged has 1, groups has 2"):
        bias_corrected(["yes"], [], [], groups=[1, 2])
    with pytest.raises(UserError, match="'ja' is neither"):
        bias_corrected(["ja"], [], [])


@pytest.mark.parametrize(
    ("truth", "s", "c", "instances", "per_instance", "reason"),
    [
        (0.8, 0.85, 0.80, 1000, 1, "a fair judge"),
        (0.8, 0.85, 0.80, 3000, 1, "a long run, hardly any of it labelled"),
        (0.3, 0.97, 0.95, 1000, 1, "a good judge: few errors, pseudo-counts at work"),
        (0.5, 0.90, 0.70, 400, 1, "a lenient judge on a small run, half of it labelled"),
        (0.35, 0.85, 0.80, 200, 5, "five criteria an instance that pass or fail together"),
    ],
)
def test_intervals_cover_the_truth(
    truth: float, s: float, c: float, instances: int, per_instance: int, reason: str
) -> None:
    """At 95% nominal, at least 90% of the simulated studies must hold the truth, and the uncorrected must not."""
    import numpy as np

    rng = np.random.default_rng(20)
    names = np.array(["no", "yes"])
    groups = [row for row in range(instances) for _ in range(per_instance)]
    corrected = powered = naive = used = 0
    for _ in range(STUDIES):
        passes = np.repeat(rng.random(instances) < truth, per_instance)
        judged = np.where(passes, rng.random(passes.size) < s, rng.random(passes.size) >= c)
        chosen = rng.choice(passes.size, 200, replace=False)
        run, gold, predicted = (names[flags.astype(int)].tolist() for flags in (judged, passes[chosen], judged[chosen]))
        first = bias_corrected(run, gold, predicted, groups=groups)
        column: list[str | None] = [None] * len(run)
        for row, label in zip(chosen.tolist(), gold, strict=True):
            column[row] = label
        second = prediction_powered(run, column, groups=groups)
        if first.ci95 is None or second.ci95 is None:
            continue
        used += 1
        corrected += first.ci95[0] <= truth <= first.ci95[1]
        powered += second.ci95[0] <= truth <= second.ci95[1]
        reach = 1.96 * math.sqrt(judged.mean() * (1 - judged.mean()) / judged.size)
        naive += bool(abs(judged.mean() - truth) <= reach)
    assert used >= 0.95 * STUDIES, reason
    assert corrected / used >= 0.90, reason
    assert powered / used >= 0.90, reason
    assert naive / used < 0.90, "the case must be one in which the correction matters"
