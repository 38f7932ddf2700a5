from __future__ import annotations

import random

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.comparison import mcnemar, paired_bootstrap, rank_groups

pytestmark = pytest.mark.filterwarnings("error")


def test_paired_difference_by_hand() -> None:
    found = paired_bootstrap([True, True, True, False], [True, False, False, False])
    assert (found.difference, found.n, found.left_out) == (0.5, 4, 0)


@pytest.mark.parametrize(
    ("first", "second", "difference", "interval", "left_out", "reason"),
    [
        ([], [], None, None, 0, "empty"),
        ([True], [False], 1.0, None, 0, "one instance has no spread"),
        ([True, None], [None, True], None, None, 2, "no instance has both"),
        ([True, False, True], [True, False, True], 0.0, (0.0, 0.0), 0, "the same answers"),
        ([1.0, 0.5], [0.5, 0.0], 0.5, (0.5, 0.5), 0, "always ahead by the same: no resample differs"),
        ([True, True, None], [False, False, False], 1.0, (1.0, 1.0), 1, "the undecided instance is left out"),
    ],
)
def test_paired_edges(
    first: list[float | None],
    second: list[float | None],
    difference: float | None,
    interval: tuple[float, float] | None,
    left_out: int,
    reason: str,
) -> None:
    found = paired_bootstrap(first, second)
    assert found.difference == difference, reason
    assert found.interval == (interval if interval is None else pytest.approx(interval)), reason
    assert found.left_out == left_out, reason


def test_pairing_narrows_the_interval() -> None:
    # Equal but for five instances, so the spread is that of the five alone: about 2 x 1.96 x sqrt(0.05 x 0.95 / 100).
    rng = random.Random(0)
    second: list[float | None] = [float(rng.random() < 0.5) for _ in range(100)]
    zeros = [row for row, score in enumerate(second) if score == 0.0][:5]
    first: list[float | None] = [1.0 if row in zeros else score for row, score in enumerate(second)]
    found = paired_bootstrap(first, second, n_resamples=4000)
    assert found.difference == pytest.approx(0.05)
    assert found.interval == pytest.approx((0.01, 0.10), abs=0.011)


def test_bootstrap_agrees_with_a_plain_one_and_with_its_seed() -> None:
    rng = random.Random(5)
    first: list[float | None] = [float(rng.random() < 0.7) for _ in range(200)]
    second: list[float | None] = [float(rng.random() < 0.5) for _ in range(200)]
    gaps = [(a or 0) - (b or 0) for a, b in zip(first, second, strict=True)]
    means = sorted(sum(rng.choices(gaps, k=200)) / 200 for _ in range(2000))
    found = paired_bootstrap(first, second, seed=3)
    assert found.interval == pytest.approx((means[50], means[1949]), abs=0.02)
    assert found == paired_bootstrap(first, second, seed=3)
    assert found != paired_bootstrap(first, second, seed=4)
    wider = paired_bootstrap(first, second, seed=3, confidence=0.99)
    assert wider.interval is not None
    assert found.interval is not None
    assert wider.interval[0] < found.interval[0] < found.interval[1] < wider.interval[1]


@pytest.mark.parametrize(
    ("only_first", "only_second", "p_value", "reason"),
    [
        (8, 2, 2 * (1 + 10 + 45) / 1024, "two tails of ten coin throws"),
        (2, 8, 2 * (1 + 10 + 45) / 1024, "the other way round"),
        (5, 5, 1.0, "even"),
        (0, 0, 1.0, "never apart"),
        (6, 0, 2 / 64, "all on one side"),
    ],
)
def test_mcnemar_by_hand(only_first: int, only_second: int, p_value: float, reason: str) -> None:
    first = [True] * only_first + [False] * only_second + [True, False]
    second = [False] * only_first + [True] * only_second + [True, False]
    found = mcnemar(first, second)
    assert (found.only_first, found.only_second, found.n) == (only_first, only_second, len(first)), reason
    assert found.p_value == pytest.approx(p_value), reason


def test_mcnemar_is_the_binomial_test_of_scipy() -> None:
    from scipy.stats import binomtest

    rng = random.Random(2)
    first, second = ([rng.random() < share for _ in range(300)] for share in (0.6, 0.5))
    found = mcnemar(first, second)
    wanted = binomtest(found.only_first, found.only_first + found.only_second).pvalue
    assert found.p_value == pytest.approx(wanted)


def test_mcnemar_without_pairs() -> None:
    assert mcnemar([], []).p_value is None
    found = mcnemar([True, None], [None, False])
    assert (found.p_value, found.n, found.left_out) == (None, 0, 2)


def models() -> dict[str, list[bool | None]]:
    """Two models that differ on two instances of 200, one far below, one never judged."""
    return {
        "far": [row % 10 < 2 for row in range(200)],
        "알파": [row % 10 < 7 for row in range(200)],
        "beta": [row % 10 < 7 or row in (7, 18) for row in range(200)],
        "silent": [None] * 200,
    }


def test_rank_groups() -> None:
    found = rank_groups(models())
    assert [(entry.model, entry.rank) for entry in found] == [("beta", 1), ("알파", 1), ("far", 3), ("silent", None)]
    assert [entry.score for entry in found] == [pytest.approx(0.71), 0.7, 0.2, None]
    assert (found[3].n, found[3].undecided) == (0, 200)
    assert found == rank_groups(dict(reversed(models().items())))


@pytest.mark.parametrize(
    ("scores", "ranks", "reason"),
    [
        ({}, [], "no models"),
        ({"a": [True]}, [("a", 1)], "one model"),
        ({"b": [True, False], "a": [True, False]}, [("a", 1), ("b", 1)], "all tied: by name"),
        ({"a": [True], "b": [False]}, [("a", 1), ("b", 1)], "one instance cannot tell them apart"),
        ({"a": [True, None], "b": [None, False]}, [("a", 1), ("b", 1)], "no instance in common"),
        ({"a": [None], "b": [None]}, [("a", None), ("b", None)], "nothing decided"),
    ],
)
def test_rank_edges(scores: dict[str, list[bool | None]], ranks: list[tuple[str, int | None]], reason: str) -> None:
    assert [(entry.model, entry.rank) for entry in rank_groups(scores)] == ranks, reason


def test_a_model_below_the_second_group_is_held_against_its_first_model() -> None:
    scores: dict[str, list[bool | None]] = {
        "a": [row < 180 for row in range(200)],
        "b": [row < 100 for row in range(200)],
        "c": [row < 99 for row in range(200)],
        "d": [row < 20 for row in range(200)],
    }
    assert [(entry.model, entry.rank) for entry in rank_groups(scores)] == [("a", 1), ("b", 2), ("c", 2), ("d", 4)]


def test_unequal_columns_are_refused() -> None:
    with pytest.raises(UserError, match="first has 1, second has 0"):
        paired_bootstrap([True], [])
    with pytest.raises(UserError, match="a has 1, b has 2"):
        rank_groups({"a": [True], "b": [True, False]})
