"""Several samples of an instance: any and all of k, and the best of N, against every subset."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.errors import UserError
from truebench_hf.metrics.pass_rate import mean_share, pass_rate
from truebench_hf.metrics.votes import Selected, all_of, any_of, best, mean, select, sizes, top

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
        assert pass_rate(map(mean, [[value] for value in passed])) == pass_rate(passed)


def test_an_instance_is_one_unit_however_often_it_was_asked() -> None:
    few = [[True, False], [True, True], [False, False], [True, False]] * 5
    many = [samples * 8 for samples in few]
    score = pass_rate(map(mean, few))
    assert score == pass_rate(map(mean, many)), "sixteen samples say no more about other instances than two"
    assert (score.value, score.n, score.unscored) == (0.5, 20, 0)
    assert score.ci95 == mean_share([0.5, 1, 0, 0.5] * 5).ci95
    alone = pass_rate([value for samples in few for value in samples]).ci95
    assert score.ci95 is not None
    assert score.ci95[1] - score.ci95[0] > alone[1] - alone[0], "as if samples were instances it would be narrower"
    assert pass_rate(map(mean, few[:9])).ci95 is None, "fewer than ten instances tell no spread of shares"


def test_unscored_instances_are_counted() -> None:
    found = pass_rate(map(mean, [[None, None], [True, None], [False, True]]))
    assert (found.value, found.n, found.unscored) == (0.75, 2, 1)
    found = pass_rate([all_of(samples, 2) for samples in ([None, True], [None, False], [True, True], [True])])
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


VECTORS = list(product((0.0, 0.5, 1.0), repeat=3))


def by_force(selection: tuple[float, ...], outside: tuple[float, ...]) -> tuple[Fraction, Fraction, Fraction]:
    """(outside score, precision, chance): every answer that nothing beats is as likely to be picked as the others."""
    picked = [i for i in range(3) if not any(selection[j] > selection[i] for j in range(3))]
    unbeaten = [i for i in range(3) if not any(outside[j] > outside[i] for j in range(3))]
    score = precision = chance = Fraction(0)
    for i in range(3):
        if i in picked:
            score += Fraction(outside[i]) / len(picked)
            precision += Fraction(i in unbeaten) / len(picked)
        chance += Fraction(i in unbeaten, 3)
    return score, precision, chance


def test_all_729_pairs_of_score_vectors_agree_with_brute_force() -> None:
    pairs = list(product(VECTORS, VECTORS))
    assert len(pairs) == 729
    for selection, outside in pairs:
        found = select(selection, outside)
        wanted = by_force(selection, outside)
        assert (found.score, found.precision, found.chance) == pytest.approx(tuple(map(float, wanted))), selection


def test_a_random_pick_and_the_best_possible_bound_every_selection() -> None:
    for outside in VECTORS:
        scores = [select(selection, outside).score or 0.0 for selection in VECTORS]
        assert max(scores) == best(outside)
        assert select((0.0, 0.0, 0.0), outside).score == pytest.approx(mean(outside)), "ties select all"


@pytest.mark.parametrize(
    ("selection", "outside", "wanted", "why"),
    [
        ((0.4, None, 0.4), (0.0, 1.0, 1.0), ((0, 2), 0.5, 0.5, 2 / 3), "an undecided selection score is never top"),
        ((None, None, 0.0), (1.0, 1.0, 0.5), ((2,), 0.5, 0.0, 2 / 3), "the one that is decided is top, however low"),
        ((None, None), (1.0, 0.0), ((), None, None, 0.5), "nothing decided selects nothing, and is no zero"),
        ((1.0, 0.0), (1.0, None), ((0,), 1.0, None, None), "the undecided answer might be as good or better"),
        ((1.0, 1.0), (1.0, None), ((0, 1), None, None, None), "an undecided answer among those selected"),
        ((2.5,), (0.1,), ((0,), 0.1, 1.0, 1.0), "one answer"),
        ((-3.0, -7.5), (0.0, 0.0), ((0,), 0.0, 1.0, 1.0), "rewards may be negative; all are best where all are tied"),
        ((), (), ((), None, None, None), "no answers"),
    ],
)
def test_what_is_undecided_stays_so(
    selection: tuple[float | None, ...], outside: tuple[float | None, ...], wanted: tuple[object, ...], why: str
) -> None:
    assert select(selection, outside) == Selected(*wanted), why  # type: ignore[arg-type]


def test_bests_with_nothing_or_something_undecided() -> None:
    assert [best([]), best([1.0, None])] == [None] * 2
    assert [mean([1.0, 0.0]), best([1.0, 0.0])] == [0.5, 1.0]
    assert top([]) == top([None]) == ()


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(UserError, match="selection has 1, outside has 2"):
        select([1.0], [1.0, 2.0])
