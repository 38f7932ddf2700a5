from __future__ import annotations

import random

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement

pytestmark = pytest.mark.filterwarnings("error")


def column(**counts: int) -> tuple[list[str], list[str]]:
    """Gold and predicted labels with these cell counts."""
    cells = {"tp": ("yes", "yes"), "fn": ("yes", "no"), "tn": ("no", "no"), "fp": ("no", "yes")}
    rows = [cells[name] for name, count in counts.items() for _ in range(count)]
    return [gold for gold, _ in rows], [guess for _, guess in rows]


def test_facts_table_2_row() -> None:
    # Claude 3.5 Sonnet, span-level: the printed rates are those of 344 accurate and 62 inaccurate responses.
    found = agreement(*column(tp=267, fn=77, fp=13, tn=49))
    printed = (found.macro_f1, found.accuracy, found.fpr, found.fnr, found.f1_yes, found.f1_no)
    assert [round(100 * (share or 0), 2) for share in printed] == [68.85, 77.83, 20.97, 22.38, 85.58, 52.13]


def test_facts_table_4_row_with_ineligible_as_positive() -> None:
    # Claude 3.5 Sonnet, request only: 150 ineligible and 300 eligible responses.
    names = {"yes": "ineligible", "no": "eligible"}
    gold, predicted = column(tp=56, fn=94, fp=49, tn=251)
    found = agreement(
        [names[label] for label in gold],
        [names[label] for label in predicted],
        positive="ineligible",
        negative="eligible",
    )
    printed = (found.macro_f1, found.accuracy, found.fpr, found.fnr, found.f1_yes, found.f1_no)
    assert [round(100 * (share or 0), 2) for share in printed] == [60.88, 68.22, 16.33, 62.67, 43.92, 77.83]


def test_positive_class_swaps_the_two_sides() -> None:
    gold, predicted = column(tp=5, fn=3, fp=2, tn=7)
    one, other = agreement(gold, predicted), agreement(gold, predicted, positive="no", negative="yes")
    assert (one.tpr, one.fpr, one.f1_yes) == (other.tnr, other.fnr, other.f1_no)
    assert one.balanced_accuracy == other.balanced_accuracy


@pytest.mark.parametrize("seed", range(5))
def test_against_scikit_learn(seed: int) -> None:
    from sklearn import metrics

    rng = random.Random(seed)
    gold = rng.choices(["yes", "no"], [3, 1], k=200)
    predicted = [label if rng.random() < 0.7 else rng.choice(["yes", "no"]) for label in gold]
    found = agreement(gold, predicted)
    assert found.accuracy == pytest.approx(metrics.accuracy_score(gold, predicted))
    assert found.balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(gold, predicted))
    assert found.balanced_accuracy_strict == pytest.approx(found.balanced_accuracy)
    assert found.macro_f1 == pytest.approx(metrics.f1_score(gold, predicted, average="macro"))
    assert found.tpr == pytest.approx(metrics.recall_score(gold, predicted, pos_label="yes"))
    assert found.fnr == pytest.approx(1 - metrics.recall_score(gold, predicted, pos_label="yes"))
    assert found.tnr == pytest.approx(metrics.recall_score(gold, predicted, pos_label="no"))
    assert found.f1_yes == pytest.approx(metrics.f1_score(gold, predicted, pos_label="yes"))
    assert found.f1_no == pytest.approx(metrics.f1_score(gold, predicted, pos_label="no"))
    tn, fp, fn, tp = metrics.confusion_matrix(gold, predicted, labels=["no", "yes"]).ravel()
    assert (found.tn, found.fp, found.fn, found.tp) == (tn, fp, fn, tp)


def test_undecided_is_left_out_and_wrong_only_in_the_strict_measure() -> None:
    found = agreement(["yes", "yes", "yes", "yes", "no", "no"], ["yes", "yes", "yes", None, "no", "unknown"])
    assert (found.n, found.undecided, found.tp, found.tn) == (6, 2, 3, 1)
    assert found.accuracy == found.balanced_accuracy == 1.0
    # Strict: 3 of 4 yes, 1 of 2 no.
    assert found.balanced_accuracy_strict == pytest.approx((3 / 4 + 1 / 2) / 2)


def test_rows_without_gold_are_only_counted() -> None:
    found = agreement([None, "yes", None], ["yes", "yes", None])
    assert (found.n, found.unlabelled, found.undecided, found.tp, found.fp) == (1, 2, 0, 1, 0)


def test_empty() -> None:
    found = agreement([], [])
    assert (found.n, found.accuracy, found.balanced_accuracy, found.macro_f1, found.tpr) == (0, None, None, None, None)


@pytest.mark.parametrize(
    ("gold", "predicted", "accuracy", "f1_yes", "f1_no", "macro", "reason"),
    [
        (["yes"], ["yes"], 1.0, 1.0, None, 1.0, "one row: the no class never occurs, F1(+) stands alone"),
        (["yes"] * 2, ["yes", None], 1.0, 1.0, None, 1.0, "an undecided row brings in no class"),
        (["yes"] * 2, ["yes", "no"], 1 / 2, 2 / 3, 0.0, 1 / 3, "one wrong prediction brings in the no class, with 0"),
        (["yes"] * 3, ["yes", "yes", "no"], 2 / 3, 0.8, 0.0, 0.4, "one gold class, predicted no once: F1(-) is 0"),
        (["no"] * 2, ["yes"] * 2, 0.0, 0.0, 0.0, 0.0, "all wrong: both F1 are 0, not undefined"),
        (["no"] * 2, [None, None], None, None, None, None, "nothing decided"),
    ],
)
def test_one_class(
    gold: list[str],
    predicted: list[str | None],
    accuracy: float | None,
    f1_yes: float | None,
    f1_no: float | None,
    macro: float | None,
    reason: str,
) -> None:
    found = agreement(gold, predicted)
    assert found.balanced_accuracy is None, reason
    assert found.balanced_accuracy_strict is None, reason
    for value, wanted in ((found.accuracy, accuracy), (found.f1_yes, f1_yes), (found.f1_no, f1_no)):
        assert value == (wanted if wanted is None else pytest.approx(wanted)), reason
    assert found.macro_f1 == (macro if macro is None else pytest.approx(macro)), reason
    if decided := [pair for pair in zip(gold, predicted, strict=True) if pair[1] is not None]:
        from sklearn.metrics import f1_score

        assert found.macro_f1 == pytest.approx(f1_score(*zip(*decided, strict=True), average="macro")), reason


def test_strict_measure_stays_defined_where_a_class_is_wholly_undecided() -> None:
    found = agreement(["yes", "no"], ["yes", None])
    assert found.balanced_accuracy is None
    assert found.balanced_accuracy_strict == 0.5


def test_unicode_labels() -> None:
    found = agreement(["예", "아니요"], ["예", "예"], positive="예", negative="아니요")
    assert (found.tp, found.fp, found.tpr, found.fpr) == (1, 1, 1.0, 1.0)


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError, match="gold has 2, predicted has 1"):
        agreement(["yes", "no"], ["yes"])
    with pytest.raises(UserError, match="'Yes' is neither 'yes' nor 'no'"):
        agreement(["yes"], ["Yes"])
