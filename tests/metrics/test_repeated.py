"""Several samples of an instance: any-of-k and all-of-k against every subset, and every way the undecided may fall."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.metrics.pass_rate import mean_share, pass_rate
from truebench_hf.metrics.repeated import all_of, any_of, mean, over_instances, sizes

SAMPLES = st.lists(st.sampled_from([True, False, None]), max_size=7)


def brute(passed: list[bool | None], k: int, rule: Callable[[Any], bool]) -> float | None:
    """The share of all subsets of `k` to which the rule applies, None where undecided samples could change it."""
    if not 1 <= k <= len(passed):
        return None
    found = set()
    for filled in product(*([value] if value is not None else [True, False] for value in passed)):
        chosen = list(combinations(filled, k))
        found.add(sum(map(rule, chosen)) / len(chosen))
    return found.pop() if len(found) == 1 else None


@given(SAMPLES, st.integers(0, 8))
def test_any_and_all_of_k_are_shares_of_all_subsets(passed: list[bool | None], k: int) -> None:
    assert any_of(passed, k) == pytest.approx(brute(passed, k, any))
    assert all_of(passed, k) == pytest.approx(brute(passed, k, all))


@pytest.mark.parametrize(
    ("passed", "some", "every", "why"),
    [
        ([], None, None, "nothing was drawn"),
        ([True], 1, 1, "a single sample is all there is"),
        ([None], None, None, "nothing is decided"),
        ([True, None], 1, None, "one pass settles any"),
        ([False, None], None, 0, "one fail settles all"),
        ([True, False, None], 1, 0, "both are settled"),
        ([None, None], None, None, "nothing is settled"),
    ],
)
def test_one_pass_settles_any_and_one_fail_all(
    passed: list[bool | None], some: float | None, every: float | None, why: str
) -> None:
    n = len(passed)
    assert (any_of(passed, n), all_of(passed, n)) == (some, every), why


@given(SAMPLES.filter(lambda passed: None not in passed and bool(passed)))
def test_of_one_both_are_the_mean(passed: list[bool | None]) -> None:
    assert any_of(passed, 1) == pytest.approx(all_of(passed, 1)) == pytest.approx(mean(passed))


def test_the_mean_leaves_out_what_is_undecided() -> None:
    assert mean([True, False, None, True]) == pytest.approx(2 / 3)
    assert mean([0.5, None, 1.0]) == 0.75
    assert (mean([None]), mean([])) == (None, None)


def test_one_sample_each_is_the_pass_rate() -> None:
    for passed in ([], [None], [True], [True, False, None, True], [True] * 12 + [False] * 3):
        assert over_instances([[value] for value in passed]) == pass_rate(passed)


def test_an_instance_is_one_unit_however_often_it_was_asked() -> None:
    few = [[True, False], [True, True], [False, False], [True, False]] * 5
    many = [samples * 8 for samples in few]
    score = over_instances(few)
    assert score == over_instances(many), "sixteen samples say no more about other instances than two"
    assert (score.value, score.n, score.unscored) == (0.5, 20, 0)
    assert score.ci95 == mean_share([0.5, 1, 0, 0.5] * 5).ci95
    alone = pass_rate([value for samples in few for value in samples]).ci95
    assert score.ci95 is not None
    assert alone is not None
    assert score.ci95[1] - score.ci95[0] > alone[1] - alone[0], "as if samples were instances it would be narrower"
    assert over_instances(few[:9]).ci95 is None, "fewer than ten instances tell no spread of shares"


def test_unscored_instances_are_counted() -> None:
    found = over_instances([[None, None], [True, None], [False, True]])
    assert (found.value, found.n, found.unscored) == (0.75, 2, 1)
    found = over_instances([[None, True], [None, False], [True, True], [True]], lambda one: all_of(one, 2))
    assert (found.value, found.n, found.unscored) == (0.5, 2, 2), "one is open, one has a single sample"


@pytest.mark.parametrize(
    ("most", "shown"),
    [
        (0, []),
        (1, []),
        (2, [2]),
        (4, [2, 3, 4]),
        (8, [2, 3, 4, 5, 6, 7, 8]),
        (9, [2, 3, 4, 5, 6, 7, 8, 9]),
        (16, [2, 3, 4, 5, 6, 7, 8, 16]),
        (100, [2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 100]),
    ],
)
def test_which_k_are_shown(most: int, shown: list[int]) -> None:
    assert sizes(most) == shown
