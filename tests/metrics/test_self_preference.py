from __future__ import annotations

import pytest

from truebench_hf.metrics.self_preference import SelfPreference, self_preference


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
