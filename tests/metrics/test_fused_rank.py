from __future__ import annotations

import random
from itertools import combinations, pairwise, permutations

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.ranks import FusedRank, fused_rank

Scores = dict[str, list[float | None]]


def of_rankings(*rankings: str) -> Scores:
    """Scores that give these rankings, best first: ("ABC", "BCA") is two columns. Every mean is then a mean rank."""
    return {model: [float(-ranking.index(model)) for ranking in rankings] for model in sorted(rankings[0])}


def order(found: FusedRank) -> str:
    return "".join(sorted(found.ranks, key=lambda model: found.ranks[model] or 0))


def beats(scores: Scores, one: str, other: str) -> int:
    """Rankings won less rankings lost."""
    return sum((a > b) - (a < b) for a, b in zip(scores[one], scores[other], strict=True))  # type: ignore[operator]


@pytest.mark.parametrize(
    ("scores", "ranks", "tied", "cycles"),
    [
        ({}, {}, (), ()),
        ({"A": [1.0, 2.0]}, {"A": 1}, (), ()),
        ({"A": [], "B": []}, {"A": None, "B": None}, (), ()),  # no ranking says anything
        # Nothing tells them apart: all are first, and none of it was decided by the mean.
        ({"A": [5.0, 5.0], "B": [5.0, 5.0], "C": [5.0, 5.0]}, {"A": 1, "B": 1, "C": 1}, (), ()),
        # Two share the first place, so the next one is third.
        ({"A": [5.0], "B": [5.0], "C": [4.0]}, {"A": 1, "B": 1, "C": 3}, (), ()),
        # The majority of rankings counts, not the mean, which one of them would decide alone.
        ({"A": [10.0, 10.0, 0.0], "B": [9.0, 9.0, 90.0]}, {"A": 1, "B": 2}, (), ()),
        # One to one: the mean decides, and that is said.
        ({"A": [1.0, 5.0], "B": [2.0, 1.0]}, {"A": 1, "B": 2}, (("A", "B"),), ()),
        # A missing score leaves a model without a rank, and the others as if it were not there.
        ({"A": [9.0, None], "B": [2.0, 1.0], "C": [3.0, 2.0]}, {"A": None, "B": 2, "C": 1}, (), ()),
        # The paradox itself: a perfect ring with equal means has no order.
        (of_rankings("ABC", "BCA", "CAB"), {"A": 1, "B": 1, "C": 1}, (), (("A", "B", "C"),)),
    ],
)
def test_small_cases(
    scores: Scores,
    ranks: dict[str, int | None],
    tied: tuple[tuple[str, str], ...],
    cycles: tuple[tuple[str, ...], ...],
) -> None:
    found = fused_rank(scores)
    assert (dict(found.ranks), found.tied, found.cycles) == (ranks, tied, cycles)


def test_rows_of_unequal_length_are_refused() -> None:
    with pytest.raises(UserError, match="one score per ranking"):
        fused_rank({"A": [1.0], "B": [1.0, 2.0]})


def test_names_are_any_text() -> None:
    assert fused_rank({"모델": [1.0], "modèle": [2.0]}).ranks == {"모델": 2, "modèle": 1}


@pytest.mark.parametrize("seed", range(10))
def test_without_a_ring_it_is_the_one_order_in_which_each_beats_all_below(seed: int) -> None:
    """Brute force: of all orders there is one in which every model wins most rankings against all behind it."""
    rng = random.Random(seed)
    scores: Scores = {model: [rng.random() for _ in range(5)] for model in "ABCDE"}
    fit = [o for o in permutations("ABCDE") if all(beats(scores, a, b) > 0 for a, b in combinations(o, 2))]
    found = fused_rank(scores)
    assert bool(found.cycles) == (not fit)
    if fit:
        assert order(found) == "".join(fit[0])
        assert sorted(rank for rank in found.ranks.values() if rank) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("seed", range(10))
def test_rings_are_opened_by_the_strongest_paths(seed: int) -> None:
    """Brute force over all paths: who has the stronger one to the other stands above it."""
    rng = random.Random(seed)
    rankings = ["".join(rng.sample("ABCD", 4)) for _ in range(4)]
    scores = of_rankings(*rankings)

    def strength(one: str, other: str) -> int:
        between = [name for name in "ABCD" if name not in (one, other)]
        paths = [(one, *via, other) for n in range(3) for via in permutations(between, n)]
        return max(min(won(a, b) for a, b in pairwise(path)) for path in paths)

    def won(a: str, b: str) -> int:
        count = sum(ranking.index(a) < ranking.index(b) for ranking in rankings)
        return count if count > len(rankings) - count else 0

    found = fused_rank(scores)
    for a, b in permutations("ABCD", 2):
        if strength(a, b) > strength(b, a):
            assert (found.ranks[a] or 0) < (found.ranks[b] or 0), rankings


def test_a_ring_below_the_best_is_reported_and_ordered() -> None:
    # W beats all. X beats Y five to one, Y beats Z five to one, Z beats X four to two: the weakest win gives way.
    scores = of_rankings("WXYZ", "WXYZ", "WYZX", "WYZX", "WZXY", "WZXY")
    assert (beats(scores, "X", "Y"), beats(scores, "Y", "Z"), beats(scores, "Z", "X")) == (2, 2, 2)
    found = fused_rank(scores)
    assert found.cycles == (("X", "Y", "Z"),)
    assert found.ranks == {"W": 1, "X": 2, "Y": 2, "Z": 2}  # all three wins are equally strong, and the means equal
    scores["X"] = [score + 0.1 if score is not None else None for score in scores["X"]]
    assert fused_rank(scores).ranks == {"W": 1, "X": 2, "Y": 3, "Z": 3}


def test_a_tie_that_a_path_settles_is_not_left_to_the_mean() -> None:
    # A and C win two rankings each against the other, and C has by far the higher mean; but A beats B, and B beats C.
    scores = of_rankings("ABC", "ABC", "CAB", "BCA")
    scores["C"][2] = 90.0
    assert [beats(scores, *pair) for pair in ("AB", "BC", "AC")] == [2, 2, 0]
    found = fused_rank(scores)
    assert (order(found), found.tied, found.cycles) == ("ABC", (), ())
