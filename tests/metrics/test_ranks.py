"""Ranks: fused from several rankings, with the places that cannot be told apart, correlated, and what judges give their own."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.support.worked import check, worked
from truebench_hf.metrics import ranks as module
from truebench_hf.metrics.comparison import paired_difference
from truebench_hf.metrics.intervals import wilson
from truebench_hf.metrics.ranks import (
    FusedRank,
    Judged,
    RankSpan,
    SelfPreference,
    correlation,
    fused_rank,
    rank_agreement,
    rank_spans,
    self_preference,
    self_preference_over,
    trend,
    unpaired,
)
from truebench_hf.types import Score

pytestmark = pytest.mark.filterwarnings("error")

Scores = dict[str, list[float | None]]
T, F, X = True, False, None


def of_rankings(*rankings: str) -> Scores:
    """Scores that give these rankings, best first: ("ABC", "BCA") is two columns. Every mean is then a mean rank."""
    return {model: [float(-ranking.index(model)) for ranking in rankings] for model in sorted(rankings[0])}


def fused(scores: Scores) -> tuple[Any, ...]:
    result = fused_rank(scores)
    return dict(result.ranks), result.tied, result.cycles


def order(result: FusedRank) -> str:
    return "".join(sorted(result.ranks, key=lambda model: result.ranks[model] or 0))


def beats(scores: Scores, first: str, second: str) -> int:
    """Rankings won less rankings lost."""
    return sum((a > b) - (a < b) for a, b in zip(scores[first], scores[second], strict=True))


def ranked(scores: Mapping[str, Sequence[float | None]], *, ascending: bool = False) -> dict[str, RankSpan]:
    results = {name: dict(enumerate(column)) for name, column in scores.items()}
    return rank_spans(dict.fromkeys(scores, Score(None, 0)), results, ascending=ascending)


def spans(*columns: Sequence[float | None]) -> str:
    return " ".join(str(span) for span in ranked(dict(zip("abcd", columns, strict=False))).values())


def of_totals(*shares: float, results: Any = None) -> tuple[str, set[bool]]:
    """Spans of models with these shares of 1,000, and which of them are marked as approximate."""
    totals = {
        name: Score(share, 1000, 0, wilson(round(share * 1000), 1000))
        for name, share in zip("abcd", shares, strict=False)
    }
    result = rank_spans(totals, results or {}).values()
    return " ".join(map(str, result)), {span.approximate for span in result}


def coefficients(x: Any, y: Any) -> tuple[float | None, float | None]:
    """Spearman's and Kendall's."""
    return correlation(x, y, "spearman").value, correlation(x, y, "kendall").value


def pearson(x: Any, y: Any) -> Score:
    return correlation(x, y, "pearson")


def rho(x: Any, y: Any) -> Score:
    """Spearman's of the agreement of ranks; it has an interval where Kendall's has one."""
    result = rank_agreement(x, y)
    assert (result["spearman"].ci95 is None) == (result["kendall"].ci95 is None)
    return result["spearman"]


def of_judges(scores: dict[str, dict[str, float | None]], *own: str) -> float | None:
    return self_preference(scores, "a", own).preference


CLEAR = [[row < n for row in range(200)] for n in (180, 100, 99, 20)]
# a: 80 - (70 + 60) / 2 = 15; b and c: 75 - 65 = 10 and 60 - 56 = 4, on average 7.
OWN: dict[str, dict[str, float | None]] = {
    "a": {"a": 80.0, "b": 70.0, "c": 60.0},
    "b": {"a": 75.0, "b": 65.0, "c": 65.0},
    "c": {"a": 60.0, "b": 50.0, "c": 62.0},
}


@worked(
    (fused, ({},), ({}, (), ()), "nothing"),
    (fused, ({"A": [], "B": []},), ({"A": None, "B": None}, (), ()), "no ranking says anything"),
    (fused, ({"A": [5.0] * 2, "B": [5.0] * 2, "C": [5.0] * 2},), ({"A": 1, "B": 1, "C": 1}, (), ()),
     "nothing tells them apart: all are first, and the mean decided nothing"),
    (fused, ({"A": [5.0], "B": [5.0], "C": [4.0]},), ({"A": 1, "B": 1, "C": 3}, (), ()), "two are first, the next third"),
    (fused, ({"A": [10.0, 10.0, 0.0], "B": [9.0, 9.0, 90.0]},), ({"A": 1, "B": 2}, (), ()), "the majority, not the mean"),
    (fused, ({"A": [1.0, 5.0], "B": [2.0, 1.0]},), ({"A": 1, "B": 2}, (("A", "B"),), ()), "one to one: the mean decides"),
    (fused, ({"A": [9.0, X], "B": [2.0, 1.0], "C": [3.0, 2.0]},), ({"A": None, "B": 2, "C": 1}, (), ()),
     "a missing score leaves a model without a rank, and the others as if it were not there"),
    (fused, (of_rankings("ABC", "BCA", "CAB"),), ({"A": 1, "B": 1, "C": 1}, (), (("A", "B", "C"),)), "a perfect ring"),
    # W beats all. X beats Y, Y beats Z, Z beats X four to two each, and the means are equal.
    (fused, (of_rankings("WXYZ", "WXYZ", "WYZX", "WYZX", "WZXY", "WZXY"),),
     ({"W": 1, "X": 2, "Y": 2, "Z": 2}, (), (("X", "Y", "Z"),)), "a ring below the best"),
    # A and C win two rankings each against the other, and C has by far the higher mean; but A beats B, and B beats C.
    (fused, ({**of_rankings("ABC", "ABC", "CAB", "BCA"), "C": [-2.0, -2.0, 90.0, -1.0]},),
     ({"A": 1, "B": 2, "C": 3}, (), ()), "a tie that a path settles is not left to the mean"),
    (spans, ([T],), "1", "one model"),
    (spans, ([T, F] * 50, [T, F] * 50), "1-2 1-2", "all tied"),
    (spans, ([T] * 6, [F] * 6), "1 2", "six can, by McNemar: p = 2 / 64"),
    (spans, ([T] * 9, [F] * 4 + [T] * 5), "1-2 1-2", "four of four cannot: p = 2 / 16"),
    (spans, ([0.9] * 9, [0.1] * 9), "1-2 1-2", "nine scores between 0 and 1 are not compared"),
    (spans, ([0.9] * 10, [0.1] * 10), "1 2", "ten are"),
    (spans, ([X] * 20, [T] * 20, [F] * 20), "1-3 1-2 2-3", "one all undecided"),
    (spans, CLEAR, "1 2-3 2-3 4", "a clear order"),
    (lambda: " ".join(map(str, ranked(dict(zip("abcd", CLEAR, strict=True)), ascending=True).values())), (),
     "4 2-3 2-3 1", "less may be better"),
    (of_totals, (0.69, 0.60, 0.59, 0.2), ("1 2-3 2-3 4", {True}), "totals alone: by their intervals, and marked"),
    (of_totals, (0.69,), ("1", {False}), "nobody it was compared with"),
    (correlation, ([1, 2, 3, X], [1, 2, 3, 4], "spearman"), {"n": 3, "unscored": 1}, "counts"),
    (coefficients, ([1, 2, 2], [1, 2, 3]), (math.sqrt(0.75), 2 / math.sqrt(6)), "a tie: ranks 1, 2.5, 2.5; 2 of sqrt(6)"),
    (coefficients, ([1, X, 3], [1, 2, X]), (None, None), "one pair is left"),
    (coefficients, ([1, 2, X, 3], [1, 2, 0, 3]), (1.0, 1.0), "the incomplete pair would have broken the order"),
    (coefficients, ([1, 2, math.nan, 3], [1, 2, 0, 3]), (1.0, 1.0), "NaN is missing too"),
    (correlation, ([1, math.inf, 3], [1, 9, 3], "spearman"), {"value": 1}, "an endless score has a rank"),
    (pearson, ([1, math.inf, 3], [1, 9, 3]), Score(1, 2, 1), "but no distance"),
    (pearson, ([1, 2, 3], [1, 2, 9]), Score(8 / math.sqrt(2 * 38), 3), "products sum to 8, squares to 2 and 38"),
    (pearson, ([0.3, 0.1 + 0.2, 0.3], [1, 2, 3]), Score(None, 3), "constant but for rounding"),
    (pearson, ([], []), Score(None, 0), "empty"),
    (rho, ([], []), Score(None, 0), "empty"),
    (rho, ([1.0], [2.0]), Score(None, 1), "one model"),
    (rho, ([1.0] * 12, list(range(12))), Score(None, 12), "all tied in one"),
    (rho, ([1.0, X, 3.0], [1.0, 2.0, math.nan]), Score(None, 1, 2), "who lacks one of the two is left out"),
    (rho, (list(range(9)), list(range(9))), Score(1.0, 9), "nine models: no interval"),
    (rho, (list(range(12)), list(range(12))), Score(1.0, 12), "equal orders: every draw says 1"),
    (trend, ([], []), None, "empty"),
    (trend, ([1.0], [1.0]), None, "one"),
    (trend, ([1.0, 2.0], [1.0, 2.0]), None, "two lie on a line, whatever they are"),
    (trend, ([3.0] * 5, [1.0, 2.0, 3.0, 4.0, 5.0]), None, "no line stands upright"),
    # Through (0, 0), (1, 2), (2, 1): slope 1/2, intercept 1/2, gaps -1/2, 1, -1/2; R squared 1 - 1.5 / 2.
    (trend, ([0, 1, 2], [0, 2, 1]), {"slope": 0.5, "intercept": 0.5, "r2": 0.25, "p_values": (None,) * 3},
     "three points leave nothing to judge one by"),
    (trend, (list(range(6)), [5.0] * 6), {"r2": None, "p_values": (None,) * 6}, "constant"),
    (trend, (list(range(6)), [2.0 * x + 1 for x in range(6)]), {"r2": 1.0, "p_values": (None,) * 6}, "nobody off the line"),
    (lambda: trend([0.0] * 4 + [9.0], [1.0, 2.0, 3.0, 4.0, 50.0]).p_values[-1], (), None,
     "a point alone at its x draws the line to itself"),
    (self_preference, ({"a": {"a": 80.0, "b": 70.0}, "b": {"a": 75.0, "b": 65.0}, "c": {"a": 60.0, "b": 50.0}}, "a", ["a"]),
     SelfPreference(10.0, 10.0, 0.0), "a judge that is lenient to all prefers nobody"),
    (self_preference, (OWN, "a", ["a"]), SelfPreference(15.0, 7.0, 8.0), "beyond what is given to others"),
    (self_preference, (OWN, "a", ["a", "b"]), {"own": 12.5}, "several models of its own"),
    (of_judges, ({"a": {"a": 80.0}, "b": {"a": 70.0}}, "a"), None, "one judge has nobody to be compared with"),
    (of_judges, ({"a": {"a": 80.0, "b": 70.0}}, "a"), None, "no other models"),
)  # fmt: skip
def test_by_hand(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


@pytest.mark.parametrize("seed", range(6))
def test_fused_ranks_against_brute_force(seed: int) -> None:
    """Without a ring it is the one order in which each beats all below; a ring is opened by the strongest paths."""
    rng = random.Random(seed)
    scores: Scores = {model: [rng.random() for _ in range(5)] for model in "ABCDE"}
    fit = [o for o in permutations("ABCDE") if all(beats(scores, a, b) > 0 for a, b in combinations(o, 2))]
    result = fused_rank(scores)
    assert bool(result.cycles) == (not fit)
    if fit:
        assert order(result) == "".join(fit[0])
        assert sorted(result.ranks.values()) == [1, 2, 3, 4, 5]

    rankings = ["".join(rng.sample("ABCD", 4)) for _ in range(4)]

    def won(a: str, b: str) -> int:
        count = sum(ranking.index(a) < ranking.index(b) for ranking in rankings)
        return count if count > len(rankings) - count else 0

    def strength(first: str, last: str) -> int:
        between = [name for name in "ABCD" if name not in (first, last)]
        paths = [(first, *via, last) for n in range(3) for via in permutations(between, n)]
        return max(min(won(a, b) for a, b in pairwise(path)) for path in paths)

    ranks = fused_rank(of_rankings(*rankings)).ranks
    for a, b in permutations("ABCD", 2):
        assert strength(a, b) <= strength(b, a) or ranks[a] < ranks[b], rankings


def test_a_ring_is_ordered_by_the_means() -> None:
    scores = of_rankings("WXYZ", "WXYZ", "WYZX", "WYZX", "WZXY", "WZXY")
    scores["X"] = [score + 0.1 for score in scores["X"]]
    assert fused_rank(scores).ranks == {"W": 1, "X": 2, "Y": 3, "Z": 3}


def test_all_pairs_at_once_are_as_two_by_two() -> None:
    """Passes and shares, gaps in them, and few instances: a rank goes from the surely better to the surely worse."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        scores: Scores = {}
        for number in range(16):
            column = rng.random(60) < rng.uniform(0.2, 0.9)
            values = column * 1.0 if number % 3 else np.round(column * rng.random(60) * 4) / 4
            kept = rng.random(60) < (0.15 if number % 4 == 0 else 0.9)
            scores[f"m{number}"] = [float(v) if known else None for v, known in zip(values, kept, strict=True)]
        result = ranked(scores)
        for name in scores:
            sure = [paired_difference(scores[name], scores[other]).ahead for other in scores]
            assert result[name] == RankSpan(1 + sure.count(-1), 16 - sure.count(1)), name
        assert {span.first for span in result.values()} > {1}


def test_a_model_without_results_is_compared_with_all_by_totals() -> None:
    # a and b differ on 30 of 1,000: sure in pairs, not by totals; c has only its total, which lies between.
    ends = [Score(share, 1000, 0, wilson(round(share * 1000), 1000)) for share in (0.53, 0.50)]
    results = {name: dict(enumerate(row < n for row in range(1000))) for name, n in (("a", 530), ("b", 500))}
    assert unpaired(*ends) == 0
    assert of_totals(0.53, 0.50, 0.515, results=results) == ("1-2 2-3 1-3", {True})


# Correlations and trends


def test_against_scipy_and_statsmodels() -> None:
    import statsmodels.api as sm

    for seed in range(3):
        rng = random.Random(seed)
        x = [rng.randint(1, 8) for _ in range(50)]  # with ties
        y = [value + rng.randint(-4, 4) for value in x]
        assert coefficients(x, y) == pytest.approx((stats.spearmanr(x, y).statistic, stats.kendalltau(x, y).statistic))
    draw = np.random.default_rng(3)
    x = draw.normal(60, 15, 31)
    y = 0.8 * x + draw.normal(0, 4, 31)
    y[7] -= 25
    line, library = trend(x.tolist(), y.tolist()), stats.linregress(x, y)
    assert (line.slope, line.intercept, line.r2) == pytest.approx((library.slope, library.intercept, library.rvalue**2))
    studentised = sm.OLS(y, sm.add_constant(x)).fit().get_influence().resid_studentized_external
    assert list(line.p_values) == pytest.approx((2 * stats.t.sf(abs(studentised), 28)).tolist())
    assert line.p_values.index(min(line.p_values)) == 7


def test_every_draw_has_the_coefficients_of_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties in the data, and those that drawing a model twice makes."""
    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 9, 15).astype(float), rng.integers(0, 9, 15).astype(float)
    seen: list[np.ndarray] = []
    monkeypatch.setattr(module, "percentiles", lambda values: seen.append(values) or (0.0, 1.0))
    monkeypatch.setattr(module, "_DRAWS", 40)
    rank_agreement(x.tolist(), y.tolist(), seed=5)
    drawn = np.random.default_rng(5).multinomial(15, np.full(15, 1 / 15), size=40)
    for place, counts in enumerate(drawn):
        a, b = np.repeat(x, counts), np.repeat(y, counts)
        wanted = stats.spearmanr(a, b).statistic, stats.kendalltau(a, b).statistic
        assert (seen[0][place], seen[1][place]) == pytest.approx(wanted)


def test_an_interval_holds_its_coefficient_and_shrinks_with_more_models() -> None:
    rng, widths = np.random.default_rng(0), []
    for n in (12, 48, 192):
        x = rng.normal(size=n)
        result = rank_agreement(x.tolist(), (x + rng.normal(size=n)).tolist())
        assert all(score.ci95[0] < score.value < score.ci95[1] for score in result.values())
        widths.append(result["spearman"].ci95[1] - result["spearman"].ci95[0])
    assert widths == sorted(widths, reverse=True)


# What judges give their own, item by item


def own_and_others(lead: float, size: int, seed: int = 0) -> Judged:
    """Three models and judges of their own; judge a passes its own model `lead` more often, all else alike."""
    draw = random.Random(seed)
    table: dict[str, dict[str, dict[str, float | None]]] = {m: {judge: {} for judge in "abc"} for m in "abc"}
    for model in "abc":
        for item in range(size):
            base = draw.random()
            for judge in "abc":
                noisy = min(1.0, max(0.0, base + draw.uniform(-0.2, 0.2)))
                table[model][judge][f"i{item}"] = float(noisy < (0.6 + lead if model == judge == "a" else 0.6))
    return table


def over(*samples: Judged) -> SelfPreference:
    return self_preference_over(samples, "a", ["a"])


def test_item_by_item_the_figure_is_that_of_the_means() -> None:
    table = own_and_others(0.2, 60)
    means = {model: {judge: sum(s.values()) / 60 for judge, s in by.items()} for model, by in table.items()}
    result = over(table)
    assert result.preference == pytest.approx(of_judges(means, "a"))
    assert result.ci95[0] < result.preference < result.ci95[1]


def test_splits_count_alike_whatever_their_size_and_are_drawn_apart() -> None:
    big, small = own_and_others(0.3, 90), own_and_others(0.0, 30, seed=1)
    assert over(big, small).preference == pytest.approx((over(big).preference + over(small).preference) / 2)
    # Of two independent samples of one size the mean varies less than either: shorter by the root of 2.
    ends = [over(*[own_and_others(0.2, 150)] * count).ci95 for count in (1, 2)]
    assert (ends[1][1] - ends[1][0]) / (ends[0][1] - ends[0][0]) == pytest.approx(2**-0.5, abs=0.08)


def test_an_item_that_one_judge_left_open_counts_for_none_of_them() -> None:
    table = {model: {judge: {f"ä{i}": 1.0 for i in range(20)} for judge in "ab"} for model in "ab"}
    assert over(table).ci95 is None, "all alike: every draw is the same"
    table["a"]["b"]["ä0"] = 0.0
    assert over(table).preference == pytest.approx(0.05)
    assert over({**table, "a": {**table["a"], "a": {**table["a"]["a"], "ä0": None}}}).preference == 0.0


@pytest.mark.parametrize(
    ("samples", "preference", "why"),
    [
        ([own_and_others(0.2, 9)], True, "fewer than ten items"),
        ([{m: {j: {"日": None} for j in "ab"} for m in "ab"}], False, "nothing decided"),
        ([], False, "nothing at all"),
    ],
)
def test_no_interval(samples: list[Judged], preference: bool, why: str) -> None:
    result = over(*samples)
    assert (result.preference is not None, result.ci95) == (preference, None), why
