from __future__ import annotations

import random

import pytest

from truebench_hf.metrics.ranks import Given, SelfPreference, self_preference, self_preference_over


def test_a_judge_that_is_lenient_to_all_prefers_nobody() -> None:
    scores = {"a": {"a": 80.0, "b": 70.0}, "b": {"a": 75.0, "b": 65.0}, "c": {"a": 60.0, "b": 50.0}}
    assert self_preference(scores, "a", ["a"]) == SelfPreference(10.0, 10.0, 0.0)


def test_what_is_given_to_its_own_beyond_what_is_given_to_others() -> None:
    # a: 80 - (70 + 60) / 2 = 15; b and c: 75 - 65 = 10 and 60 - 56 = 4, on average 7.
    scores = {
        "a": {"a": 80.0, "b": 70.0, "c": 60.0},
        "b": {"a": 75.0, "b": 65.0, "c": 65.0},
        "c": {"a": 60.0, "b": 50.0, "c": 62.0},
    }
    assert self_preference(scores, "a", ["a"]) == SelfPreference(15.0, 7.0, 8.0)
    assert self_preference(scores, "a", ["a", "b"]).own == pytest.approx(12.5)  # several models of its own


@pytest.mark.parametrize(
    ("scores", "own", "why"),
    [
        ({"a": {"a": 80.0}, "b": {"a": 70.0}}, ["a"], "one judge has nobody to be compared with"),
        ({"a": {"a": 80.0, "b": 70.0}}, ["a"], "no other models"),
        ({"b": {"a": 80.0, "b": 70.0}}, [], "no model of its own"),
        ({"a": {"a": None, "b": 70.0}, "c": {"a": 1.0, "b": 2.0}}, ["a"], "a score is missing"),
        ({}, [], "nothing at all"),
    ],
)
def test_undefined(scores: dict[str, dict[str, float | None]], own: list[str], why: str) -> None:
    assert self_preference(scores, "a", own).preference is None, why


def given(own: float, size: int, seed: int = 0) -> Given:
    """Three models and judges of their own; judge a passes its own model `own` more often, all else alike."""
    draw = random.Random(seed)
    found: dict[str, dict[str, dict[str, float | None]]] = {model: {judge: {} for judge in "abc"} for model in "abc"}
    for model in "abc":
        for item in range(size):
            base = draw.random()
            for judge in "abc":
                noisy = min(1.0, max(0.0, base + draw.uniform(-0.2, 0.2)))
                found[model][judge][f"i{item}"] = float(noisy < (0.6 + own if model == judge == "a" else 0.6))
    return found


def test_item_by_item_the_figure_is_that_of_the_means() -> None:
    table = given(0.2, 60)
    means = {model: {judge: sum(s.values()) / 60 for judge, s in by.items()} for model, by in table.items()}  # type: ignore[arg-type]
    found = self_preference_over([table], "a", ["a"])
    assert found.preference == pytest.approx(self_preference(means, "a", ["a"]).preference)
    assert found.ci95 is not None
    assert found.ci95[0] < (found.preference or 0) < found.ci95[1]


def test_splits_count_alike_whatever_their_size() -> None:
    big, small = given(0.3, 90), given(0.0, 30, seed=1)
    both = [self_preference_over([one], "a", ["a"]).preference or 0 for one in (big, small)]
    assert self_preference_over([big, small], "a", ["a"]).preference == pytest.approx(sum(both) / 2)


def test_equally_long_splits_are_drawn_apart() -> None:
    """Of two independent samples of one size the mean varies less than either: its interval is shorter by the root of 2."""
    one = given(0.2, 400)
    width = {}
    for count in (1, 2):
        low, high = self_preference_over([one] * count, "a", ["a"]).ci95 or (0.0, 0.0)
        width[count] = high - low
    assert width[2] / width[1] == pytest.approx(2**-0.5, abs=0.08)


def test_an_item_that_one_judge_left_open_counts_for_none_of_them() -> None:
    table = {model: {judge: {f"i{i}": 1.0 for i in range(20)} for judge in "ab"} for model in "ab"}
    table["a"]["b"]["i0"] = 0.0
    assert self_preference_over([table], "a", ["a"]).preference == pytest.approx(0.05)
    open_one: Given = {**table, "a": {**table["a"], "a": {**table["a"]["a"], "i0": None}}}
    assert self_preference_over([open_one], "a", ["a"]).preference == 0.0


@pytest.mark.parametrize(
    ("samples", "preference", "why"),
    [
        ([given(0.2, 9)], True, "fewer than ten items"),
        (
            [{m: {j: {f"ä{i}": 1.0 for i in range(12)} for j in "ab"} for m in "ab"}],
            True,
            "all alike: every draw is the same",
        ),
        ([{m: {j: {"日": None} for j in "ab"} for m in "ab"}], False, "nothing decided"),
        ([], False, "nothing at all"),
    ],
)
def test_no_interval(samples: list[Given], preference: bool, why: str) -> None:
    found = self_preference_over(samples, "a", ["a"])
    assert (found.preference is not None, found.ci95) == (preference, None), why


@pytest.mark.slow
def test_the_interval_covers_the_truth() -> None:
    truth = self_preference_over([given(0.2, 40_000, seed=7)], "a", ["a"]).preference or 0
    bounds = [self_preference_over([given(0.2, 100, seed=seed)], "a", ["a"]).ci95 or (0, 0) for seed in range(150)]
    covered = sum(low <= truth <= high for low, high in bounds) / len(bounds)
    assert 0.9 <= covered <= 0.99, covered
