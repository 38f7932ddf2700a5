from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.errors import UserError
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
    assert (found["wpld"].n, found["wpld"].unscored) == (5, 2)
    assert (found["pld_0"].value, found["pld_1"].value, found["pld_2"].value) == (2 / 5, 2 / 5, 1 / 5)
    assert found["wpld"].value == pytest.approx((2 * 1 + 1 * 2) / 5)


def test_wpld_of_tick_table_4() -> None:
    # 1,000 pairs in the shares printed for TICK: 0.522, 0.443, 0.035 give 0.513 (0.514 before rounding).
    gold = ["win"] * 1000
    predicted = ["win"] * 522 + ["tie"] * 443 + ["loss"] * 35
    assert pairwise_agreement(gold, predicted)["wpld"].value == pytest.approx(0.513)


def test_pld_0_is_accuracy() -> None:
    from sklearn.metrics import accuracy_score

    rng = random.Random(0)
    gold, predicted = (rng.choices(["win", "tie", "loss"], k=200) for _ in range(2))
    found = pairwise_agreement(gold, predicted)
    assert found["pld_0"].value == pytest.approx(accuracy_score(gold, predicted))
    assert (found["pld_0"].value or 0) + (found["pld_1"].value or 0) + (found["pld_2"].value or 0) == pytest.approx(1)


@pytest.mark.parametrize("column", [[], [None, None]])
def test_nothing_decided(column: list[str | None]) -> None:
    found = pairwise_agreement(column, column)
    assert (found["wpld"].n, found["wpld"].unscored, found["pld_0"].value, found["wpld"].value) == (
        0,
        len(column),
        None,
        None,
    )


def test_bad_input_is_refused() -> None:
    with pytest.raises(UserError, match="'draw' is not one of win, tie, loss"):
        pairwise_agreement(["win"], ["draw"])
    with pytest.raises(UserError, match="gold has 1, predicted has 0"):
        pairwise_agreement(["win"], [])
    with pytest.raises(UserError, match="0 is off the scale"):
        preference_from_ratings([0, 3])


LABELS = st.sampled_from(["win", "tie", "loss", None])
DECIDED = st.sampled_from(["win", "tie", "loss"])


def test_wpld_is_the_mean_absolute_error_of_labels_as_numbers() -> None:
    from sklearn.metrics import mean_absolute_error

    rng = random.Random(1)
    gold, predicted = (rng.choices(["win", "tie", "loss"], k=300) for _ in range(2))
    numbers = {"win": 1, "tie": 0, "loss": -1}
    found = pairwise_agreement(gold, predicted)
    assert found["wpld"].value == pytest.approx(
        mean_absolute_error([numbers[g] for g in gold], [numbers[p] for p in predicted])
    )


def test_intervals_by_statsmodels_and_by_cluster() -> None:
    from statsmodels.stats.proportion import proportion_confint

    gold, predicted = ["win"] * 20, ["win"] * 15 + ["tie"] * 3 + ["loss"] * 2
    found = pairwise_agreement(gold, predicted)
    assert found["pld_0"].ci95 == pytest.approx(proportion_confint(15, 20, method="wilson"))
    assert found["wpld"].ci95 is not None
    low, high = found["wpld"].ci95
    assert 0 < low < 7 / 20 < high < 2
    # Ten instructions with two pairs each that share their fate tell less than twenty pairs that do not.
    alike = pairwise_agreement(gold * 2, predicted * 2, [*range(20)] * 2)
    assert alike["pld_0"].ci95 is not None
    assert found["pld_0"].ci95 is not None
    assert alike["pld_0"].ci95[1] - alike["pld_0"].ci95[0] > 0.9 * (found["pld_0"].ci95[1] - found["pld_0"].ci95[0])
    few = pairwise_agreement(["win"] * 4, ["win"] * 4, [1, 1, 2, 2])
    assert (few["pld_0"].ci95, few["wpld"].ci95) == (None, None)
    assert pairwise_agreement(["win"] * 4, ["win"] * 4)["pld_0"].ci95 is not None, "Wilson at any n"


@pytest.mark.parametrize(
    ("predicted", "pld", "wpld", "reason"),
    [
        (["tie"] * 10, (0, 1, 0), 1, "all tied against wins and losses: half wrong each"),
        (["win", "loss"] * 5, (1, 0, 0), 0, "an oracle"),
        (["loss", "win"] * 5, (0, 0, 1), 2, "inverted"),
    ],
)
def test_agreement_where_no_pair_is_labelled_a_tie(
    predicted: list[str], pld: tuple[float, float, float], wpld: float, reason: str
) -> None:
    found = pairwise_agreement(["win", "loss"] * 5, predicted)
    assert ((found["pld_0"].value, found["pld_1"].value, found["pld_2"].value), found["wpld"].value) == (pld, wpld), (
        reason
    )


@pytest.mark.parametrize("ones", [9, 10, 60, 400])
def test_the_interval_of_nothing_but_ties_is_narrow(ones: int) -> None:
    found = pairwise_agreement(["win"] * ones, ["tie"] * ones)
    if ones < 10:
        assert found["wpld"].ci95 is None
        return
    assert found["wpld"].ci95 is not None
    low, high = found["wpld"].ci95
    assert low == pytest.approx(ones / (ones + 1.96**2), rel=1e-4), "Wilson's, where all agree"
    assert high == pytest.approx(2 - low)
    other = pairwise_agreement(["win"] * ones, ["tie"] * (ones - 1) + ["loss"])["wpld"].ci95
    assert other[0] <= 1 <= other[1], "one that differs moves it little"


@pytest.mark.slow
def test_the_interval_of_wpld_covers() -> None:
    rng = random.Random(3)
    for weights in ((0.5, 0.45, 0.05), (0.9, 0.05, 0.05), (0.05, 0.9, 0.05)):
        truth, covered = weights[1] + 2 * weights[2], 0
        for _ in range(400):
            predicted = rng.choices(["win", "tie", "loss"], weights, k=60)
            interval = pairwise_agreement(["win"] * 60, predicted)["wpld"].ci95
            assert interval is not None
            covered += interval[0] <= truth <= interval[1]
        assert covered / 400 >= 0.92, (weights, covered)


@pytest.mark.parametrize(
    ("orders", "label", "reason"),
    [
        (("win", "win"), "win", "consistent"),
        (("tie", "tie"), "tie", "consistent"),
        (("loss",), "loss", "one order alone"),
        (("win", "loss"), "tie", "what hangs on the order is no preference"),
        (("win", "tie"), "tie", "so is half a one"),
        (("win", None), None, "undecided in one order"),
        ((None, None), None, "undecided in both"),
        ((None,), None, "undecided"),
        ((), None, "never asked"),
    ],
)
def test_joined(orders: tuple[str | None, ...], label: str | None, reason: str) -> None:
    assert joined(orders) == label, reason


@given(LABELS, LABELS)
def test_joining_knows_no_order_and_no_names(one: str | None, other: str | None) -> None:
    found = joined((one, other))
    assert found == joined((other, one)), "which order was asked first does not matter"
    assert turned(found) == joined((turned(one), turned(other))), "nor which response is called A"
    assert (found is None) == (None in (one, other))
    assert found == one if one == other else found in (None, "tie")
    assert turned(turned(one)) == one


@given(st.lists(st.tuples(DECIDED, LABELS, LABELS), max_size=40))
def test_position_bias_and_counts_hold_together(rows: list[tuple[str, str | None, str | None]]) -> None:
    gold, as_given, swapped = [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows]
    found = position_bias(as_given, swapped)
    both = [(one, other) for _, one, other in rows if one and other]
    assert found.n == len(both)
    shares = [share for share in (found.consistent, found.first, found.second) if share is not None]
    assert sum(shares) <= 1 + 1e-9
    back = position_bias(list(map(turned, swapped)), list(map(turned, as_given)))
    assert back == found, "the same answers, with the responses named the other way round"
    strict = [joined((one, other)) == label for label, one, other in rows if label != "tie"]
    theirs = judgebench_accuracy(gold, list(zip(as_given, swapped, strict=True)))
    assert theirs is None if not strict else (theirs or 0) * len(strict) >= sum(strict) - 1e-9


def test_position_bias_by_hand() -> None:
    # First in both, second in both, the same twice, one tie, one undecided.
    as_given = ["win", "loss", "win", "tie", "tie", None]
    swapped = ["loss", "win", "win", "tie", "win", "win"]
    found = position_bias(as_given, swapped)
    assert (found.n, found.consistent, found.first, found.second) == (5, 2 / 5, 1 / 5, 1 / 5)
    # As given the first place won in 1 and 3, lost in 2. Swapped it won in 1, and lost in 2, 3, 5, 6.
    assert (found.calls, found.first_rate) == (8, 3 / 8)
    none = position_bias([], [])
    assert (none.n, none.consistent, none.first, none.second, none.calls, none.first_rate) == (
        0,
        None,
        None,
        None,
        0,
        None,
    )
    with pytest.raises(UserError, match="as_given has 1, swapped has 0"):
        position_bias(["win"], [])


@pytest.mark.parametrize(
    ("gold", "orders", "right", "reason"),
    [
        ("win", ("win", "win"), 1, "right in both"),
        ("win", ("win", "tie"), 1, "a win and a tie"),
        ("win", (None, "win"), 1, "a win and no answer"),
        ("win", ("win", "loss"), 0, "a win and a loss"),
        ("win", ("tie", "tie"), 0, "no win"),
        ("win", (None, None), 0, "no answer"),
        ("loss", ("loss", "tie"), 1, "the same for response B"),
        ("loss", ("win", "tie"), 0, "wrong"),
        ("loss", ("loss",), 1, "one order"),
        ("loss", (None,), 0, "one order, no answer"),
        ("tie", ("tie", "tie"), None, "JudgeBench has no ties: left out"),
        (None, ("win", "win"), None, "no label: left out"),
    ],
)
def test_judgebench_count(gold: str | None, orders: tuple[str | None, ...], right: int | None, reason: str) -> None:
    assert judgebench_accuracy([gold], [orders]) == right, reason
    assert judgebench_accuracy([], []) is None
