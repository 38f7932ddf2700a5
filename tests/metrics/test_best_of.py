"""Best of N against brute force, on every pair of score vectors of three answers and three levels."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.repeated import Selected, best, mean, select, top

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
