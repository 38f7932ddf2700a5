"""A judge's error rates on labelled rows, by hand."""

from __future__ import annotations

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.double_sampling import error_rates

pytestmark = pytest.mark.filterwarnings("error")


def verdicts(yes: int, no: int) -> list[str]:
    return ["yes"] * yes + ["no"] * no


def labelled(tp: int, fn: int, tn: int, fp: int) -> tuple[list[str], list[str]]:
    """Gold and predicted labels with these cell counts."""
    return verdicts(tp + fn, tn + fp), ["yes"] * tp + ["no"] * (fn + tn) + ["yes"] * fp


def test_error_rates_by_hand() -> None:
    rates = error_rates(*labelled(tp=90, fn=10, tn=80, fp=20))
    assert (rates.sensitivity, rates.specificity, rates.n0, rates.n1) == (0.9, 0.8, 100, 100)
    assert rates.youden_j == pytest.approx(0.7)
    # J's variance is 0.09 / 100 + 0.16 / 100, its standard error 0.05.
    assert rates.j_lower == pytest.approx(0.7 - 1.959964 * 0.05)


def test_a_faultless_sample_gets_pseudo_counts() -> None:
    rates = error_rates(*labelled(tp=40, fn=0, tn=40, fp=0))
    assert rates.sensitivity == rates.specificity == pytest.approx(41 / 42)


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


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError):
        error_rates(["yes"], ["yes", "no"])
    with pytest.raises(UserError):
        error_rates(["ja"], ["yes"])
