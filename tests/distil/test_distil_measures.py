"""What a distilled judge is worth, on tables counted by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from truebench_hf.benchmarks.rubric_eval.calibration.measures import Row
from truebench_hf.distil.measures import fitted, measured, rows, side, usual
from truebench_hf.distil.options import DistilOptions
from truebench_hf.distil.verdicts import Example
from truebench_hf.types import Criterion, Label, Verdict

OPTIONS = DistilOptions(runs=("r",), base="hf:m", out="o")


def table(*given: tuple[str, Label, float | None]) -> list[Row]:
    """Rows of (instruction, the teacher's label, P(yes) of the judge)."""
    return [Row(str(i), name, label, share, "") for i, (name, label, share) in enumerate(given)]


ROWS = table(("a", "yes", 0.9), ("a", "yes", 0.5), ("b", "no", 0.6), ("b", "no", 0.1), ("c", "no", None))


def test_agreement_with_the_teacher() -> None:
    found = measured(ROWS)
    assert found.agreement["balanced_accuracy"].value == pytest.approx((1 + 1 / 2) / 2)  # one half itself is yes
    assert (found.agreement["accuracy"].n, found.agreement["accuracy"].unscored) == (4, 1)
    assert found.probabilities.brier == pytest.approx((0.01 + 0.25 + 0.36 + 0.01) / 4)
    assert (found.probabilities.n, found.probabilities.left_out) == (4, 1)


@pytest.mark.parametrize(
    ("some", "accuracy"),
    [(ROWS, 3 / 5), (table(("a", "yes", None)), 1.0), (table(("a", "yes", 0.1), ("b", "no", 0.9)), 1 / 2)],
)
def test_the_usual_verdict_is_a_floor(some: Sequence[Row], accuracy: float) -> None:
    assert usual(some)["accuracy"].value == pytest.approx(accuracy)


def test_a_judge_that_decided_nothing_is_measured_as_such() -> None:
    found = measured(table(("a", "yes", None), ("b", "no", None)))
    assert found.agreement["accuracy"].value is None
    assert found.agreement["accuracy"].unscored == 2
    assert found.probabilities.brier is None


@pytest.mark.parametrize(
    ("some", "told"),
    [
        (table(("a", "yes", None), ("b", "no", 0.3)), "held out: a calibrator needs probabilities of rubrics that are met"),
        (table(("a", "yes", 0.9), ("a", "no", 0.1)), "held out: cross-fitting needs labels of both kinds in several"),
    ],
)  # fmt: skip
def test_what_is_too_little_is_not_calibrated_but_told(some: Sequence[Row], told: str) -> None:
    fit, problem = fitted("hf:o", some, 2, OPTIONS)
    assert fit is None
    assert problem.startswith(told)


def test_the_calibration_is_that_of_calibrate() -> None:
    some = table(
        *((str(i), label, 0.2 + 0.05 * i + 0.3 * (label == "yes")) for i in range(8) for label in ("yes", "no"))
    )
    fit, problem = fitted("hf:o", some, 8, OPTIONS)
    assert fit is not None
    assert problem == ""
    assert (fit.calibrated.judge, fit.calibrated.rules, fit.calibrated.band) == ("hf:o", "decide", None)
    assert fit.calibrated.calibrator.kind == "platt"
    assert set(fit.agreement) == {
        "as given, threshold 0.5",
        "calibrated, threshold 0.5",
        "calibrated, fitted threshold",
    }


def test_sides_and_rows() -> None:
    criteria = (Criterion("a"), Criterion("b"))
    one = Example("run", "1", "i", "state", criteria, ("a", "b"), ("yes", "no"))
    found = side([one, one])
    assert (found.instructions, found.responses, found.labels) == (1, 2, {"yes": 2, "no": 2})
    asked = [(one, [Verdict(criteria[0], "no", "r", "j", 0.2), Verdict(criteria[1], None, "declined", "j")])]
    assert [(row.instruction_id, row.label, row.probability, row.reason) for row in rows(asked)] == [
        ("i", "yes", 0.2, "r"), ("i", "no", None, "declined"),
    ]  # fmt: skip
