"""The worth of a chosen cascade: no row has a say in what decides it, and no optimism is left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.calibration import best_threshold, cross_fit, fit
from truebench_hf.metrics.choosing import First, Point, Second, cheapest, chosen_labels, curve


def drawn(seed: int, n: int, *, right: float = 0.85) -> tuple[list[float], list[str], list[int], Second]:
    """Rows two to an instruction: a decision judge that is better the surer it is, and another `right` so often."""
    random = np.random.default_rng(seed)
    met = random.random(n) < 0.6
    p = 1 / (1 + np.exp(-(np.where(met, 1.0, -1.0) + random.normal(0, 1.2, n))))
    says = np.where(random.random(n) < right, met, ~met)
    second = Second([_word(word) for word in says], [str(i) for i in range(n)], {str(i): 500.0 for i in range(n)})
    return p.tolist(), [_word(word) for word in met], [i // 2 for i in range(n)], second


def strict(gold: Any, labels: Any) -> Any:
    return label_agreement(gold, labels, measures=("balanced_accuracy_strict",))["balanced_accuracy_strict"].value


def _word(met: Any) -> str:
    return "yes" if met else "no"


FIRST = First(100, 2000.0)


@pytest.mark.parametrize(
    ("low", "high", "p", "expected", "reason"),
    [
        (None, None, 0.9, "second", "the reasoning judge alone"),
        (None, 0.5, 0.5, "yes", "a threshold: from it on"),
        (None, 0.5, 0.4, "no", "below it"),
        (None, 0.5, None, None, "nothing to compare with it"),
        (0.3, 0.7, 0.3, "second", "the ends of a band belong to it"),
        (0.3, 0.7, 0.7, "second", "both"),
        (0.3, 0.7, 0.71, "yes", "above it"),
        (0.3, 0.7, 0.29, "no", "below it"),
        (0.3, 0.7, None, "second", "what the decision judge declined is handed on"),
    ],
)
def test_a_point_settles_a_row(
    low: float | None, high: float | None, p: float | None, expected: str | None, reason: str
) -> None:
    assert Point(low, high, 0.0, 0, None, None).settle(p, "second") == expected, reason


def test_a_points_figure_is_that_of_what_it_settles() -> None:
    p, labels, _, second = drawn(1, 24)
    for point in curve(p, labels, FIRST, second, 0.5):
        said = [point.settle(share, word) for share, word in zip(p, second.labels, strict=True)]
        assert strict(labels, said) == pytest.approx(point.balanced_accuracy)


def test_no_row_has_a_say_in_what_decides_it() -> None:
    p, labels, groups, second = drawn(2, 40)
    before = chosen_labels("temperature", p, labels, groups, FIRST, second)
    for group in (0, 17):
        turned = [
            {"yes": "no", "no": "yes"}[word] if g == group else word for word, g in zip(labels, groups, strict=True)
        ]
        after = chosen_labels("temperature", p, turned, groups, FIRST, second)
        same = [row for row, g in enumerate(groups) if g == group]
        assert [after[row] for row in same] == [before[row] for row in same]


@pytest.mark.parametrize(
    ("labels", "groups", "reason"),
    [
        (["yes", "no"] * 10, [0] * 20, "one instruction: nothing unseen"),
        (["yes"] * 20, list(range(20)), "one label: no calibrator"),
        (["yes"] * 19 + ["no"], list(range(20)), "no calibrator for the fold that has the only no"),
    ],
)
def test_what_cannot_be_chosen_stays_open(labels: list[str], groups: list[int], reason: str) -> None:
    p, _, _, second = drawn(3, 20)
    assert None in chosen_labels("temperature", p, labels, groups, FIRST, second), reason


def test_bad_columns_are_refused() -> None:
    p, labels, groups, second = drawn(3, 20)
    with pytest.raises(UserError, match="parallel"):
        chosen_labels("temperature", p, labels[:-1], groups, FIRST, second)
    with pytest.raises(UserError, match="did you mean platt"):
        chosen_labels("plat", p, labels, groups, FIRST, second)


@pytest.mark.slow
def test_the_optimism_is_gone() -> None:
    # What a choice made on 200 rows seems to be worth there, what nested folds say, and what it is worth on new rows.
    new_p, new_labels, _, new_second = drawn(0, 10_000)
    seems, nested, true = [], [], []
    for seed in range(1, 51):
        p, labels, groups, second = drawn(seed, 200)
        fair, _ = cross_fit("temperature", p, labels, groups)
        best, calibrator = best_threshold(fair, labels), fit("temperature", p, labels)
        assert best is not None
        assert calibrator is not None
        point = cheapest(curve(fair, labels, FIRST, second, best[0]))
        assert point is not None
        seems.append(point.balanced_accuracy)
        nested.append(strict(labels, chosen_labels("temperature", p, labels, groups, FIRST, second)))
        said = [
            point.settle(calibrator.apply(share), word) for share, word in zip(new_p, new_second.labels, strict=True)
        ]
        true.append(strict(new_labels, said))
    figures = [float(np.mean(np.array(found, dtype=float))) for found in (seems, nested, true)]
    print("\nbalanced accuracy where it was chosen {:.3f}, nested {:.3f}, true {:.3f}".format(*figures))
    assert figures[0] > figures[2] + 0.01, "the choice flatters itself"
    assert figures[1] == pytest.approx(figures[2], abs=0.01)
