"""A judge's error rates, and a pass rate corrected by those found on another run: by hand, withheld, by simulation."""

from __future__ import annotations

import math

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.labelled import Estimate, error_rates, rogan_gladen

pytestmark = pytest.mark.filterwarnings("error")

STUDIES = 300


def verdicts(yes: int, no: int) -> list[str]:
    return ["yes"] * yes + ["no"] * no


def labelled(tp: int, fn: int, tn: int, fp: int) -> tuple[list[str], list[str]]:
    """Gold and predicted labels with these cell counts."""
    return verdicts(tp + fn, tn + fp), ["yes"] * tp + ["no"] * (fn + tn) + ["yes"] * fp


def corrected(yes: int, no: int, cells: tuple[int, int, int, int]) -> Estimate:
    return rogan_gladen(verdicts(yes, no), error_rates(*labelled(*cells)))


def test_rogan_gladen_by_hand() -> None:
    # p = 0.6, s = 0.9, c = 0.8: (0.6 + 0.8 - 1) / 0.7 = 4/7.
    rates = error_rates(*labelled(tp=90, fn=10, tn=80, fp=20))
    assert (rates.sensitivity, rates.specificity, rates.n0, rates.n1) == (0.9, 0.8, 100, 100)
    assert rates.youden_j == pytest.approx(0.7)
    # J's variance is 0.09 / 100 + 0.16 / 100, its standard error 0.05.
    assert rates.j_lower == pytest.approx(0.7 - 1.959964 * 0.05)
    found = rogan_gladen(verdicts(600, 400), rates)
    assert found.estimate == pytest.approx(4 / 7)
    variance = (0.24 / 1000 + (3 / 7) ** 2 * 0.16 / 100 + (4 / 7) ** 2 * 0.09 / 100) / 0.49
    reach = 1.959964 * math.sqrt(variance)
    assert found.ci95 == pytest.approx((4 / 7 - reach, 4 / 7 + reach))
    assert found.effective_labels == pytest.approx(4 / 7 * 3 / 7 / variance)


def test_a_faultless_sample_gets_pseudo_counts() -> None:
    rates = error_rates(*labelled(tp=40, fn=0, tn=40, fp=0))
    assert rates.sensitivity == rates.specificity == pytest.approx(41 / 42)
    found = rogan_gladen(verdicts(50, 50), rates)
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
    assert error_rates(*labelled(*cells)).sensitivity == pytest.approx(used)


def test_weights_undo_a_sample_that_was_stratified_by_verdict() -> None:
    # Of 900 judged to pass 90 are labelled, of 100 judged to fail all: half of those truly fail, half truly pass.
    gold, predicted = labelled(tp=80, fn=50, tn=50, fp=10)
    weights = [10.0 if said == "yes" else 1.0 for said in predicted]
    plain, weighted = error_rates(gold, predicted), error_rates(gold, predicted, weights=weights)
    assert plain.sensitivity == pytest.approx(80 / 130)
    assert weighted.sensitivity == pytest.approx(800 / 850)
    assert weighted.specificity == pytest.approx(50 / 150)
    assert (weighted.n1, weighted.n0) == (130, 60)
    share = 50 / 150
    variance = (50 * (1 - share) ** 2 + 10 * (10 * share) ** 2) / 150**2  # fifty of weight 1, ten of weight 10
    assert weighted.variances is not None
    assert weighted.variances[1] == pytest.approx(variance)


def test_rates_over_criteria_of_one_instance_are_less_sure() -> None:
    gold, predicted = labelled(tp=90, fn=10, tn=80, fp=20)
    apart = error_rates(gold, predicted)
    together = error_rates(gold, predicted, groups=[i // 10 for i in range(200)])
    assert (together.sensitivity, together.specificity) == (apart.sensitivity, apart.specificity)
    assert apart.variances is not None
    assert together.variances is not None
    assert together.variances[0] == pytest.approx(
        10 * apart.variances[0] * 10 / 9
    )  # ten like rows in each of ten groups


@pytest.mark.parametrize(
    ("yes", "no", "estimate", "reason"),
    [
        (17, 83, 0.0, "somewhat fewer yes than the judge's false alarms explain"),
        (83, 17, 1.0, "somewhat more yes than its sensitivity allows"),
    ],
)
def test_estimate_and_interval_stay_within_0_and_1(yes: int, no: int, estimate: float, reason: str) -> None:
    found = corrected(yes, no, (80, 20, 80, 20))
    assert found.estimate == estimate, reason
    assert found.ci95 is not None
    assert 0 <= found.ci95[0] <= estimate <= found.ci95[1] <= 1, reason
    assert found.ci95[0] < found.ci95[1], "an interval without width would claim to know"
    assert found.effective_labels is None, "at 0 and 1 a sample of any size has no variance"


@pytest.mark.parametrize(("yes", "no"), [(0, 100), (100, 0), (970, 30)])  # raw estimates of -0.33, 1.33 and 1.28
def test_a_run_that_its_labels_cannot_explain_is_withheld(yes: int, no: int) -> None:
    found = corrected(yes, no, (80, 20, 80, 20))
    assert (found.estimate, found.ci95) == (None, None)
    assert "contradict each other" in (found.withheld or "")


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
    rates = error_rates(*labelled(*cells))
    found = rogan_gladen(verdicts(60, 40), rates)
    assert (found.estimate, found.ci95, found.effective_labels) == (None, None, None), reason
    assert message in (found.withheld or "")
    assert (rates.youden_j is None) == (0 in (cells[0] + cells[1], cells[2] + cells[3])), reason


def test_thirty_of_each_are_enough() -> None:
    assert corrected(60, 40, (26, 4, 26, 4)).withheld is None


def test_undecided_rows_are_counted_and_enter_nothing() -> None:
    gold, predicted = labelled(90, 10, 80, 20)
    clean = rogan_gladen(verdicts(60, 40), error_rates(gold, predicted))
    rates = error_rates([*gold, None, "yes"], [*predicted, "yes", None])
    assert rogan_gladen([*verdicts(60, 40), None, "unknown"], rates) == clean
    assert rates.unusable == 2


@pytest.mark.parametrize("judged", [[], [None, None]])
def test_nothing_decided_in_the_run(judged: list[str | None]) -> None:
    found = rogan_gladen(judged, error_rates(*labelled(90, 10, 80, 20)))
    assert (found.estimate, found.withheld) == (None, "no row of the run is decided")


def test_criteria_of_one_instance_count_as_dependent() -> None:
    # 100 instances with ten like verdicts each: ten times the variance of independent rows, times 100 / 99.
    judged = [verdict for row in range(100) for verdict in ["yes" if row % 2 else "no"] * 10]
    groups = [row for row in range(100) for _ in range(10)]
    rates = error_rates(*labelled(90, 10, 80, 20))
    apart, together = rogan_gladen(judged, rates), rogan_gladen(judged, rates, groups=groups)
    assert apart.ci95 is not None
    assert together.ci95 is not None

    def variance(ci95: tuple[float, float]) -> float:
        return ((ci95[1] - ci95[0]) / 2 / 1.959964) ** 2 * 0.49

    added = variance(together.ci95) - variance(apart.ci95)
    assert added == pytest.approx(0.25 / 1000 * (10 * 100 / 99 - 1), rel=1e-4)
    assert together.estimate == apart.estimate
    assert "all rows are of one instance" in (rogan_gladen(judged, rates, groups=["only"] * 1000).withheld or "")


def test_bad_input_is_refused() -> None:
    rates = error_rates([], [])
    with pytest.raises(UserError, match="gold has 1, predicted has 0"):
        error_rates(["yes"], [])
    with pytest.raises(UserError, match="gold has 1, weights has 2"):
        error_rates(["yes"], ["yes"], weights=[1.0, 1.0])
    with pytest.raises(UserError, match="judged has 1, groups has 2"):
        rogan_gladen(["yes"], rates, groups=[1, 2])
    with pytest.raises(UserError, match="'ja' is neither"):
        rogan_gladen(["ja"], rates)


@pytest.mark.parametrize(
    ("truth", "s", "c", "instances", "per_instance", "reason"),
    [
        (0.8, 0.85, 0.80, 1000, 1, "a fair judge"),
        (0.3, 0.97, 0.95, 1000, 1, "a good judge: few errors, pseudo-counts at work"),
        (0.5, 0.90, 0.70, 400, 1, "a lenient judge on a small run"),
        (0.35, 0.85, 0.80, 200, 5, "five criteria an instance that pass or fail together"),
    ],
)
def test_intervals_cover_the_truth(
    truth: float, s: float, c: float, instances: int, per_instance: int, reason: str
) -> None:
    """With 200 labels of another run, half of whose rows pass, at least 91% of the studies must hold the truth."""
    import numpy as np

    rng = np.random.default_rng(20)
    names = np.array(["no", "yes"])
    groups = [row for row in range(instances) for _ in range(per_instance)]

    def judge(passes: np.ndarray) -> np.ndarray:
        return np.where(passes, rng.random(passes.size) < s, rng.random(passes.size) >= c)

    held = naive = used = 0
    for _ in range(STUDIES):
        judged = judge(np.repeat(rng.random(instances) < truth, per_instance))
        elsewhere = rng.random(200) < 0.5
        run, gold, predicted = (names[x.astype(int)].tolist() for x in (judged, elsewhere, judge(elsewhere)))
        found = rogan_gladen(run, error_rates(gold, predicted), groups=groups)
        if found.ci95 is None:
            continue
        used += 1
        held += found.ci95[0] <= truth <= found.ci95[1]
        reach = 1.96 * math.sqrt(judged.mean() * (1 - judged.mean()) / judged.size)
        naive += bool(abs(judged.mean() - truth) <= reach)
    assert used >= 0.95 * STUDIES, reason
    assert held / used >= 0.91, reason
    assert naive / used < 0.9, "the case must be one in which the correction matters"
