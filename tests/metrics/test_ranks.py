"""Ranks: fused from several rankings, with the places that cannot be told apart, and what judges give their own."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise, permutations

import numpy as np
import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.comparison import paired_difference
from truebench_hf.metrics.intervals import wilson
from truebench_hf.metrics.ranks import (
    FusedRank,
    Judged,
    RankSpan,
    SelfPreference,
    fused_rank,
    rank_spans,
    self_preference,
    self_preference_over,
    unpaired,
)
from truebench_hf.types import Score

pytestmark = pytest.mark.filterwarnings("error")


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
    scores: Scores, ranks: dict[str, int | None], tied: tuple[tuple[str, str], ...], cycles: tuple[tuple[str, ...], ...]
) -> None:
    found = fused_rank(scores)
    assert (dict(found.ranks), found.tied, found.cycles) == (ranks, tied, cycles)


def test_rows_of_unequal_length_are_refused() -> None:
    with pytest.raises(UserError, match="one score per ranking"):
        fused_rank({"A": [1.0], "B": [1.0, 2.0]})


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


Scores_of_rank_span = Mapping[str, Sequence[float | None]]


def ranked(scores: Scores_of_rank_span, *, ascending: bool = False) -> dict[str, RankSpan]:
    results = {name: dict(enumerate(column)) for name, column in scores.items()}
    return rank_spans(dict.fromkeys(scores, Score(None, 0)), results, ascending=ascending)


def spans(scores: Scores_of_rank_span) -> dict[str, str]:
    return {name: str(span) for name, span in ranked(scores).items()}


def total(share: float, n: int = 1000) -> Score:
    return Score(share, n, 0, wilson(round(share * n), n))


@pytest.mark.parametrize(
    ("scores", "wanted", "reason"),
    [
        ({}, [], "no models"),
        ({"a": [True]}, ["1"], "one model"),
        ({"a": [True, False] * 50, "b": [True, False] * 50}, ["1-2", "1-2"], "all tied"),
        ({"a": [True] * 2, "b": [False] * 2}, ["1-2", "1-2"], "two instances cannot tell them apart"),
        ({"a": [True] * 6, "b": [False] * 6}, ["1", "2"], "six can, by McNemar: p = 2 / 64"),
        ({"a": [True] * 9, "b": [False] * 4 + [True] * 5}, ["1-2", "1-2"], "four of four cannot: p = 2 / 16"),
        ({"a": [0.9] * 9, "b": [0.1] * 9}, ["1-2", "1-2"], "nine scores between 0 and 1 are not compared"),
        ({"a": [0.9] * 10, "b": [0.1] * 10}, ["1", "2"], "ten are"),
        ({"a": [True, None], "b": [None, False]}, ["1-2", "1-2"], "no instance in common"),
        ({"a": [None], "b": [None]}, ["1-2", "1-2"], "nothing decided"),
        ({"a": [None] * 20, "b": [True] * 20, "c": [False] * 20}, ["1-3", "1-2", "2-3"], "one all undecided"),
    ],
)
def test_edges(scores: Scores_of_rank_span, wanted: list[str], reason: str) -> None:
    assert list(spans(scores).values()) == wanted, reason


def test_a_rank_goes_from_the_surely_better_to_the_surely_worse() -> None:
    # Of 200: a is sure of d and e only, b and c lie between, and e is sure to be below all but d.
    passed = {"a": 120, "b": 112, "c": 104, "d": 96, "e": 82}
    scores: Scores_of_rank_span = {
        name: random.Random(name).sample([True] * n + [False] * (200 - n), 200) for name, n in passed.items()
    }
    found = ranked(scores)
    for one in scores:
        sure = [paired_difference(scores[one], scores[other]).ahead for other in scores]
        assert found[one] == RankSpan(1 + sure.count(-1), 5 - sure.count(1))
    assert found["a"] == RankSpan(1, 3)
    assert found["e"].last == 5
    assert any(span.first != span.last for span in found.values())


def test_a_clear_order_has_ranks_of_one_place_and_less_may_be_better() -> None:
    scores: Scores_of_rank_span = {
        "a": [row < 180 for row in range(200)],
        "b": [row < 100 for row in range(200)],
        "c": [row < 99 for row in range(200)],
        "d": [row < 20 for row in range(200)],
    }
    assert list(spans(scores).values()) == ["1", "2-3", "2-3", "4"]
    found = ranked(scores, ascending=True)
    assert [str(span) for span in found.values()] == ["4", "2-3", "2-3", "1"]


@pytest.mark.parametrize("seed", range(4))
def test_all_pairs_at_once_are_as_two_by_two(seed: int) -> None:
    """Passes and shares, gaps in them, and few instances: the matrices say what single pairs say."""
    rng = np.random.default_rng(seed)
    scores: dict[str, list[float | None]] = {}
    for number in range(24):
        column = rng.random(60) < rng.uniform(0.2, 0.9)
        values = column * 1.0 if number % 3 else np.round(column * rng.random(60) * 4) / 4
        kept = rng.random(60) < (0.15 if number % 4 == 0 else 0.9)
        scores[f"m{number}"] = [float(v) if there else None for v, there in zip(values, kept, strict=True)]
    found = ranked(scores)
    for one in scores:
        pairs = [paired_difference(scores[one], scores[other]) for other in scores]
        sure = [pair.ahead for pair in pairs]
        assert found[one] == RankSpan(1 + sure.count(-1), 24 - sure.count(1)), one
    assert {span.first for span in found.values()} > {1}


def test_totals_alone_are_compared_by_their_intervals_and_marked() -> None:
    found = rank_spans({"a": total(0.69), "b": total(0.60), "c": total(0.59), "d": total(0.2)}, {})
    assert [str(span) for span in found.values()] == ["1", "2-3", "2-3", "4"]
    assert all(span.approximate for span in found.values())
    assert not rank_spans({"a": total(0.69)}, {})["a"].approximate  # nobody it was compared with


def test_a_model_without_results_is_compared_with_all_by_totals() -> None:
    # a and b differ on 30 of 1,000: sure in pairs, not by totals; c has only its total, which lies between.
    a, b = [row < 530 for row in range(1000)], [row < 500 for row in range(1000)]
    totals = {"a": total(0.53), "b": total(0.50), "c": total(0.515)}
    assert unpaired(totals["a"], totals["b"]) == 0
    found = rank_spans(totals, {"a": dict(enumerate(a)), "b": dict(enumerate(b))})
    assert [str(span) for span in found.values()] == ["1-2", "2-3", "1-3"]
    assert all(span.approximate for span in found.values())


@pytest.mark.slow
def test_the_true_rank_lies_in_the_span() -> None:
    """Of models whose true order is known the span holds the true place in nearly all samples."""
    rng = np.random.default_rng(3)
    chances = np.array([0.75, 0.7, 0.6, 0.55, 0.4, 0.35])
    held = 0
    for _ in range(500):
        ease = rng.normal(0, 1, 300)
        logits = np.log(chances / (1 - chances))[:, None] + ease
        passed = rng.random((6, 300)) < 1 / (1 + np.exp(-logits))
        found = ranked({str(number): row.tolist() for number, row in enumerate(passed)})
        held += sum(found[str(n)].first <= n + 1 <= found[str(n)].last for n in range(6))
    assert held / 3000 >= 0.97


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


def given(own: float, size: int, seed: int = 0) -> Judged:
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
    open_one: Judged = {**table, "a": {**table["a"], "a": {**table["a"]["a"], "i0": None}}}
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
def test_no_interval(samples: list[Judged], preference: bool, why: str) -> None:
    found = self_preference_over(samples, "a", ["a"])
    assert (found.preference is not None, found.ci95) == (preference, None), why


@pytest.mark.slow
def test_the_interval_covers_the_truth() -> None:
    truth = self_preference_over([given(0.2, 40_000, seed=7)], "a", ["a"]).preference or 0
    bounds = [self_preference_over([given(0.2, 100, seed=seed)], "a", ["a"]).ci95 or (0, 0) for seed in range(150)]
    covered = sum(low <= truth <= high for low, high in bounds) / len(bounds)
    assert 0.9 <= covered <= 0.99, covered
