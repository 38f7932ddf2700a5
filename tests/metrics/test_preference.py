"""Preferences between two responses: from ratings, agreement with people, and what hangs on the order."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.worked import check, worked
from truebench_hf.metrics.preference import (
    joined,
    judgebench_accuracy,
    label_distance,
    pairwise_agreement,
    position_bias,
    preference_from_ratings,
    preference_from_scores,
    turned,
)

W, T, L, X = "win", "tie", "loss", None
LABELS, DECIDED = st.sampled_from([W, T, L, X]), st.sampled_from([W, T, L])
# First in both, then the same three times, one tie, one undecided.
ASKED = [W, L, W, T, T, X], [L, L, W, T, W, W]


def judgebench(gold: str | None, orders: tuple[str | None, ...]) -> float | None:
    return judgebench_accuracy([gold], [orders])


def agreement(gold: list[str | None], predicted: list[str | None]) -> tuple[Any, ...]:
    """The shares at distance 0, 1 and 2, WPLD, its units, and those left out."""
    scores = pairwise_agreement(gold, predicted)
    return (
        *(scores[name].value for name in ("pld_0", "pld_1", "pld_2", "wpld")),
        scores["wpld"].n,
        scores["wpld"].unscored,
    )


@worked(
    (preference_from_ratings, ([2, 2, 3],), W, "mean 2.33"),
    (preference_from_ratings, ([2, 3],), T, "2.5 exactly belongs to the tie"),
    (preference_from_ratings, ([3, 4],), T, "3.5 exactly belongs to the tie"),
    (preference_from_ratings, ([3, 4, 4],), L, "mean 3.67"),
    (preference_from_ratings, ([1, 5],), T, "opposite opinions cancel out"),
    (preference_from_ratings, ([X, 5],), L, "a missing rating is passed over"),
    (preference_from_ratings, ([X],), None, "nobody rated"),
    (preference_from_scores, (0.8, 0.6), W, "higher"),
    (preference_from_scores, (0.6, 0.6), T, "equal"),
    (preference_from_scores, (0.0, 0.0), T, "a score of 0 is a score"),
    (label_distance, (T, T), 0, "alike"),
    (label_distance, (T, W), 1, "half as bad as the opposite"),
    (label_distance, (L, W), 2, "opposite"),
    (agreement, ([W, W, T, L, L, X, W], [W, T, W, W, L, W, X]), (2 / 5, 2 / 5, 1 / 5, 4 / 5, 5, 2), "two undecided"),
    # Shares printed as 0.522, 0.443, 0.035 give 0.513 (0.514 before rounding).
    (agreement, ([W] * 1000, [W] * 522 + [T] * 443 + [L] * 35), (0.522, 0.443, 0.035, 0.513, 1000, 0), "TICK, Table 4"),
    (agreement, ([], []), (None, None, None, None, 0, 0), "nothing"),
    (agreement, ([W, L] * 5, [L, W] * 5), (0, 0, 1, 2, 10, 0), "inverted"),
    (joined, ((L,),), L, "one order alone"),
    (joined, ((),), None, "never asked"),
    # As given the first place won in 1 and 3, lost in 2. Swapped it won in 1 and 2, and lost in 3, 5, 6.
    (position_bias, ASKED, {"n": 5, "consistent": 3 / 5, "first": 1 / 5, "second": 0, "calls": 8, "first_rate": 4 / 8},
     "counts of places"),
    (position_bias, ([], []), {"n": 0, "consistent": None, "first": None, "second": None, "calls": 0, "first_rate": None},
     "nothing asked"),
    (judgebench, (W, (W, W)), 1, "right in both"),
    (judgebench, (W, (W, T)), 1, "a win and a tie"),
    (judgebench, (W, (W, L)), 0, "a win and a loss"),
    (judgebench, (L, (L,)), 1, "one order"),
    (judgebench, (L, (X,)), 0, "one order, no answer"),
    (judgebench, (T, (T, T)), None, "JudgeBench has no ties: left out"),
    (judgebench, (X, (W, W)), None, "no label: left out"),
    (judgebench_accuracy, ([], []), None, "nothing"),
)  # fmt: skip
def test_by_hand(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


def test_against_scikit_learn_and_statsmodels() -> None:
    from sklearn.metrics import accuracy_score, mean_absolute_error
    from statsmodels.stats.proportion import proportion_confint

    rng, numbers = random.Random(0), {W: 1, T: 0, L: -1}
    gold, predicted = (rng.choices([W, T, L], k=300) for _ in range(2))
    scores = pairwise_agreement(gold, predicted)
    assert scores["pld_0"].value == pytest.approx(accuracy_score(gold, predicted))
    wanted = mean_absolute_error([numbers[g] for g in gold], [numbers[p] for p in predicted])
    assert scores["wpld"].value == pytest.approx(wanted)
    few = pairwise_agreement([W] * 20, [W] * 15 + [T] * 3 + [L] * 2)["pld_0"]
    assert few.ci95 == pytest.approx(proportion_confint(15, 20, method="wilson"))


def test_intervals_by_cluster() -> None:
    gold, predicted = [W] * 20, [W] * 15 + [T] * 3 + [L] * 2
    plain = pairwise_agreement(gold, predicted)
    low, high = plain["wpld"].ci95
    assert 0 < low < 7 / 20 < high < 2
    # Twenty instructions with two pairs each that share their fate tell no more than twenty pairs.
    alike = pairwise_agreement(gold * 2, predicted * 2, [*range(20)] * 2)["pld_0"].ci95
    assert alike[1] - alike[0] > 0.9 * (plain["pld_0"].ci95[1] - plain["pld_0"].ci95[0])
    few = pairwise_agreement([W] * 4, [W] * 4, [1, 1, 2, 2])
    assert (few["pld_0"].ci95, few["wpld"].ci95) == (None, None)
    assert pairwise_agreement([W] * 4, [W] * 4)["pld_0"].ci95 is not None, "Wilson at any n"


@pytest.mark.parametrize("ones", [9, 10, 60, 400])
def test_the_interval_of_nothing_but_ties_is_narrow(ones: int) -> None:
    ends = pairwise_agreement([W] * ones, [T] * ones)["wpld"].ci95
    if ones < 10:
        assert ends is None
        return
    low = ones / (ones + 1.96**2)
    assert ends == pytest.approx((low, 2 - low), rel=1e-4), "Wilson's, where all agree"
    other = pairwise_agreement([W] * ones, [T] * (ones - 1) + [L])["wpld"].ci95
    assert other[0] <= 1 <= other[1], "one that differs moves it little"


@given(LABELS, LABELS)
def test_joining_knows_no_order_and_no_names(first: str | None, second: str | None) -> None:
    label = joined((first, second))
    assert label == joined((second, first)), "which order was asked first does not matter"
    assert turned(label) == joined((turned(first), turned(second))), "nor which response is called A"
    assert (label is None) == (None in (first, second))
    assert label == first if first == second else label in (None, T)
    assert turned(turned(first)) == first


@given(st.lists(st.tuples(DECIDED, LABELS, LABELS), max_size=40))
def test_position_bias_and_counts_hold_together(rows: list[tuple[str, str | None, str | None]]) -> None:
    gold, as_given, swapped = ([row[place] for row in rows] for place in range(3))
    bias = position_bias(as_given, swapped)
    assert bias.n == sum(bool(first and second) for _, first, second in rows)
    assert sum(share or 0 for share in (bias.consistent, bias.first, bias.second)) <= 1 + 1e-9
    assert position_bias(list(map(turned, swapped)), list(map(turned, as_given))) == bias, "named the other way round"
    strict = [joined((first, second)) == label for label, first, second in rows if label != T]
    theirs = judgebench_accuracy(gold, list(zip(as_given, swapped, strict=True)))
    assert theirs is None if not strict else theirs * len(strict) >= sum(strict) - 1e-9
