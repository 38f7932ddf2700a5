"""Reliability of raters: kappa and alpha, and their intervals."""

from __future__ import annotations

import random
from typing import Any

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.kappa import (
    cohen_kappa,
    fleiss_kappa,
    krippendorff_alpha,
    verbal_band,
)

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(
    ("kappa", "band"),
    [
        (-0.3, "slight"),  # the paper's lowest band has no lower end
        (0.2, "slight"),
        (0.204, "slight"),  # prints as 0.20
        (0.206, "fair"),  # prints as 0.21
        (0.40, "fair"),
        (0.41, "moderate"),
        (0.60, "moderate"),
        (0.61, "substantial"),
        (0.80, "substantial"),
        (0.81, "almost perfect"),
        (1.0, "almost perfect"),
    ],
)
def test_bands(kappa: float, band: str) -> None:
    assert verbal_band(kappa) == band


def test_cohen_by_hand() -> None:
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed 0.7, by chance 0.5 x 0.6 + 0.5 x 0.4 = 0.5.
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    found = cohen_kappa(first, second)
    assert found.value == pytest.approx(0.4)
    assert (found.n, found.unscored, found.ci95) == (50, 0, None)


@pytest.mark.parametrize(
    ("first", "second", "value", "reason"),
    [
        ([], [], None, "nothing to compare"),
        (["yes"], ["yes"], None, "one label in use: chance agreement is 1 as well"),
        (["a"] * 4, ["a"] * 4, None, "all one class"),
        (["a", "a"], ["b", "b"], 0.0, "never the same label, and by chance never either"),
        (["a", "b"], ["a", "b"], 1.0, "perfect"),
        (["a", "b"], ["b", "a"], -1.0, "opposite, chance is one half"),
        (["合格", "不合格"], ["合格", "不合格"], 1.0, "Unicode labels"),
        ([1, "one"], [1, "one"], 1.0, "labels that cannot be sorted"),
        (["a", "b", None, "a"], ["a", "b", "a", None], 1.0, "rows with a missing rating are left out"),
    ],
)
def test_cohen_edges(first: list[str | None], second: list[str | None], value: float | None, reason: str) -> None:
    assert cohen_kappa(first, second).value == (value if value is None else pytest.approx(value)), reason


def test_cohen_counts_what_it_leaves_out() -> None:
    found = cohen_kappa(["a", None, "b"], ["a", "a", None])
    assert (found.n, found.unscored) == (1, 2)
    with pytest.raises(UserError, match="first has 1, second has 0"):
        cohen_kappa(["a"], [])


def test_cohen_of_three_labels_against_the_formula() -> None:
    rng = random.Random(3)
    first = [rng.choice("abc") for _ in range(300)]
    second = [label if rng.random() < 0.5 else rng.choice("abc") for label in first]
    observed = sum(a == b for a, b in zip(first, second, strict=True)) / 300
    chance = sum(first.count(label) * second.count(label) for label in "abc") / 300**2
    assert cohen_kappa(first, second).value == pytest.approx((observed - chance) / (1 - chance))


def test_fleiss_by_hand() -> None:
    # Items agree fully and not at all: mean 0.5; shares 0.75 and 0.25 agree by chance at 0.625.
    found = fleiss_kappa([["yes", "yes"], ["yes", "no"]])
    assert found.value == pytest.approx((0.5 - 0.625) / (1 - 0.625))


def test_fleiss_of_labels_agrees_with_statsmodels() -> None:
    from statsmodels.stats import inter_rater

    rng = random.Random(1)
    ratings = [[rng.choice("xyz") for _ in range(4)] for _ in range(60)]
    table, _ = inter_rater.aggregate_raters(ratings)
    assert fleiss_kappa(ratings).value == pytest.approx(inter_rater.fleiss_kappa(table))


@pytest.mark.parametrize(
    ("ratings", "value", "n", "left_out", "reason"),
    [
        ([], None, 0, 0, "no items"),
        ([["yes"], ["no"]], None, 0, 2, "one rating an item: nothing to agree with"),
        ([[None, None]], None, 0, 1, "no ratings"),
        ([["yes", "yes"]] * 3, None, 3, 0, "all one label"),
        ([["yes", "yes"], ["no", "no"]], 1.0, 2, 0, "perfect"),
        ([["yes", "yes"], ["no", "no"], ["no", None]], 1.0, 2, 1, "an item with a missing rating is left out"),
        ([["yes", "yes", None], ["no", "no", None]], 1.0, 2, 0, "a rater who never rated is no rater"),
    ],
)
def test_fleiss_edges(ratings: list[list[str | None]], value: float | None, n: int, left_out: int, reason: str) -> None:
    found = fleiss_kappa(ratings)
    assert found.value == (value if value is None else pytest.approx(value)), reason
    assert (found.n, found.unscored) == (n, left_out), reason


def test_alpha_nominal_by_hand() -> None:
    # Ten items, two raters: 4 of 10 differ, 14 zeros and 6 ones: 1 - 19 x 4 / (14 x 6).
    first = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0]
    second = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    found = krippendorff_alpha(list(zip(first, second, strict=True)))
    assert found.value == pytest.approx(1 - 19 * 4 / (14 * 6))


def test_alpha_ordinal_by_hand() -> None:
    # Counts 3, 2, 1 of grades 1, 2, 3; squared distances 6.25 (1-2), 2.25 (2-3), 16 (1-3);
    # observed 2 x 16 = 32, expected 2 x (6 x 6.25 + 2 x 2.25 + 3 x 16) / 5 = 36.
    found = krippendorff_alpha([[1, 1], [2, 2], [1, 3]], "ordinal")
    assert found.value == pytest.approx(1 - 32 / 36)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_alpha_against_the_library_with_missing_ratings(level: str) -> None:
    import krippendorff
    import numpy as np

    rng = random.Random(2)
    ratings = [[rng.choice([1, 2, 3, 4, 5, None]) for _ in range(3)] for _ in range(80)]
    matrix = np.array([[np.nan if grade is None else grade for grade in row] for row in ratings]).T
    wanted = krippendorff.alpha(matrix, level_of_measurement=level)
    assert krippendorff_alpha(ratings, level).value == pytest.approx(wanted)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ratings", "value", "n", "left_out", "reason"),
    [
        ([], None, 0, 0, "no items"),
        ([["yes"], ["no"]], None, 0, 2, "no item has two ratings"),
        ([["yes", "yes"], ["yes", "yes"]], None, 2, 0, "one label only"),
        ([["yes", "yes"], ["no", None]], None, 1, 1, "the second label occurs only where nothing is compared"),
        ([["yes", "yes"], ["no", "no"]], 1.0, 2, 0, "perfect"),
        (
            [["yes", "yes"], ["no", "no"], ["no", float("nan")]],
            1.0,
            2,
            1,
            "NaN is a missing rating, as tables spell it",
        ),
        ([["yes", "no"]], 0.0, 1, 0, "one item, two labels: no worse than chance"),
    ],
)
def test_alpha_edges(
    ratings: list[list[str | float | None]], value: float | None, n: int, left_out: int, reason: str
) -> None:
    found = krippendorff_alpha(ratings)
    assert found.value == (value if value is None else pytest.approx(value)), reason
    assert (found.n, found.unscored) == (n, left_out), reason


def test_alpha_refuses_an_order_it_cannot_know() -> None:
    with pytest.raises(UserError, match="has no order of its own"):
        krippendorff_alpha([["low", "high"]], "ordinal")


def scores(items: int, noise: float, seed: int) -> list[list[int]]:
    """Three raters each: a true score from 1 to 5, with a chance of another one instead."""
    draw = random.Random(seed)
    truth = [draw.randint(1, 5) for _ in range(items)]
    return [[draw.randint(1, 5) if draw.random() < noise else score for _ in range(3)] for score in truth]


def ends_of_alpha(rows: Any, clusters: Any = None) -> Any:
    return krippendorff_alpha(rows, "ordinal", clusters=range(len(rows)) if clusters is None else clusters).ci95


def test_the_interval_of_alpha_holds_it_and_narrows() -> None:
    rows = scores(400, 0.5, 1)
    alpha, (low, high) = krippendorff_alpha(rows, "ordinal").value, ends_of_alpha(rows)
    few = ends_of_alpha(rows[:40])
    assert alpha is not None
    assert low < alpha < high
    assert high - low < 0.5 * (few[1] - few[0])
    assert ends_of_alpha(rows) == (low, high), "drawn by the seed"


def test_items_of_a_cluster_are_drawn_together() -> None:
    rows = scores(20, 0.5, 2)
    alone, doubled = ends_of_alpha(rows), ends_of_alpha(rows * 2, [*range(20)] * 2)
    assert doubled[1] - doubled[0] == pytest.approx(alone[1] - alone[0], abs=0.06), "the same items again tell nothing"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "nothing"),
        ([[1, 2]], "a single item"),
        ([[3, 3]] * 20, "one label alone"),
        ([[1, None], [None, 2]] * 20, "nothing to compare"),
        ([[1, 2, 3]] * 9, "nine clusters tell too little"),
    ],
)
def test_no_interval_of_alpha(rows: list[list[int | None]], why: str) -> None:
    assert ends_of_alpha(rows) is None, why


@pytest.mark.slow
def test_the_interval_of_alpha_covers() -> None:
    """40 responses by three annotators, against alpha of 40,000 such: about nine in ten intervals hold it."""
    whole = krippendorff_alpha(scores(40_000, 0.6, 0), "ordinal").value
    assert whole is not None
    found = [ends_of_alpha(scores(40, 0.6, seed)) for seed in range(1, 201)]
    assert 0.87 < sum(low <= whole <= high for low, high in found) / len(found) <= 0.98


def test_the_interval_of_kappa_holds_it_and_narrows() -> None:
    draw, widths = random.Random(3), []
    for n in (12, 60, 400):
        gold = [draw.random() < 0.4 for _ in range(n * 5)]
        judged = [label != (draw.random() < 0.2) for label in gold]
        kappa = cohen_kappa(gold, judged, [i // 5 for i in range(n * 5)])
        value, found = kappa.value, kappa.ci95
        assert value is not None
        assert found is not None
        assert -1 <= found[0] < value < found[1] <= 1
        widths.append(found[1] - found[0])
    assert widths == sorted(widths, reverse=True)


def test_perfect_agreement_of_few_instances_claims_no_certainty() -> None:
    labels = [True, False] * 10
    found = cohen_kappa(labels, labels, range(20)).ci95
    assert found[1] == 1
    assert 0.4 < found[0] < 0.9, "all draws agree; what few instances can tell does not"


def test_instances_whose_responses_go_together_widen_the_interval_of_kappa() -> None:
    draw = random.Random(5)
    rows = [(draw.random() < 0.5, draw.random() < 0.7) for _ in range(20)]
    first = [label for label, _ in rows for _ in range(5)]
    second = [label == right for label, right in rows for _ in range(5)]
    together = cohen_kappa(first, second, [i // 5 for i in range(100)]).ci95
    alone = cohen_kappa(first, second, range(100)).ci95
    assert together is not None
    assert together[1] - together[0] > 1.5 * (alone[1] - alone[0])


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ([], [], "nothing"),
        (["a", "b"] * 4, ["a", "b"] * 4, "eight clusters"),
        (["a"] * 30, ["a"] * 30, "one label only"),
        ([None, "b"] * 9, ["a", "b"] * 9, "nine clusters with both ratings, and one label among them"),
    ],
)
def test_no_interval_of_kappa(first: list[str | None], second: list[str | None], why: str) -> None:
    assert cohen_kappa(first, second, range(len(first))).ci95 is None, why


def test_draws_of_one_label_alone_are_passed_over() -> None:
    labels = ["pass"] * 11 + ["fail"]
    found = cohen_kappa(labels, labels, range(12)).ci95
    assert found[1] == 1
