from __future__ import annotations

import random

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.preference import (
    label_distance,
    pairwise_agreement,
    preference_from_ratings,
    preference_from_scores,
)


@pytest.mark.parametrize(
    ("ratings", "label", "reason"),
    [
        ([1, 1, 1], "win", "A much better, says everyone"),
        ([2, 2, 3], "win", "mean 2.33"),
        ([2, 3], "tie", "2.5 exactly belongs to the tie"),
        ([3, 4], "tie", "3.5 exactly belongs to the tie"),
        ([3, 4, 4], "loss", "mean 3.67"),
        ([1, 5], "tie", "opposite opinions cancel out"),
        ([None, 5], "loss", "a missing rating is passed over"),
        ([], None, "nobody rated"),
        ([None], None, "nobody rated"),
    ],
)
def test_preference_from_ratings(ratings: list[float | None], label: str | None, reason: str) -> None:
    assert preference_from_ratings(ratings) == label, reason


def test_preference_from_scores() -> None:
    assert preference_from_scores(0.8, 0.6) == "win"
    assert preference_from_scores(0.6, 0.8) == "loss"
    assert preference_from_scores(0.6, 0.6) == "tie"
    assert preference_from_scores(None, 0.6) is None
    assert preference_from_scores(0.0, 0.0) == "tie"  # a score of 0 is a score


@pytest.mark.parametrize(
    ("gold", "predicted", "distance"),
    [
        ("win", "win", 0),
        ("tie", "tie", 0),
        ("tie", "win", 1),
        ("win", "tie", 1),  # calling a win a tie is half as bad as calling it a loss
        ("loss", "tie", 1),
        ("win", "loss", 2),
        ("loss", "win", 2),
    ],
)
def test_label_distance(gold: str, predicted: str, distance: int) -> None:
    assert label_distance(gold, predicted) == distance


def test_agreement_by_hand() -> None:
    gold = ["win", "win", "tie", "loss", "loss", None, "win"]
    predicted = ["win", "tie", "win", "win", "loss", "win", None]
    found = pairwise_agreement(gold, predicted)
    assert (found.n, found.undecided) == (5, 2)
    assert (found.pld_0, found.pld_1, found.pld_2) == (2 / 5, 2 / 5, 1 / 5)
    assert found.wpld == pytest.approx((2 * 1 + 1 * 2) / 5)


def test_wpld_of_tick_table_4() -> None:
    # 1,000 pairs in the shares printed for TICK: 0.522, 0.443, 0.035 give 0.513 (0.514 before rounding).
    gold = ["win"] * 1000
    predicted = ["win"] * 522 + ["tie"] * 443 + ["loss"] * 35
    assert pairwise_agreement(gold, predicted).wpld == pytest.approx(0.513)


def test_pld_0_is_accuracy() -> None:
    from sklearn.metrics import accuracy_score

    rng = random.Random(0)
    gold, predicted = (rng.choices(["win", "tie", "loss"], k=200) for _ in range(2))
    found = pairwise_agreement(gold, predicted)
    assert found.pld_0 == pytest.approx(accuracy_score(gold, predicted))
    assert (found.pld_0 or 0) + (found.pld_1 or 0) + (found.pld_2 or 0) == pytest.approx(1)


@pytest.mark.parametrize("column", [[], [None, None]])
def test_nothing_decided(column: list[str | None]) -> None:
    found = pairwise_agreement(column, column)
    assert (found.n, found.undecided, found.pld_0, found.wpld) == (0, len(column), None, None)


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError, match="'draw' is not one of win, tie, loss"):
        pairwise_agreement(["win"], ["draw"])
    with pytest.raises(UserError, match="gold has 1, predicted has 0"):
        pairwise_agreement(["win"], [])
    with pytest.raises(UserError, match="0 is off the scale"):
        preference_from_ratings([0, 3])
