"""Intervals of shares, of means over clusters and of differences, and shares estimated from verdicts and few labels."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.stats
from scipy.stats import multinomial, t

from tests.support.corpus import each_row
from tests.support.worked import check, worked
from truebench_hf.metrics import intervals
from truebench_hf.metrics.comparison import PairedDifference, clustered_difference, paired_difference
from truebench_hf.metrics.double_sampling import (
    AT_LEAST,
    Stratum,
    allocate,
    combined,
    double_sampling,
    kish,
)
from truebench_hf.metrics.intervals import (
    clustered_mean,
    clustered_share,
    effective_interval,
    resampled_difference,
    resampled_ratio,
    wilson,
)
from truebench_hf.metrics.ranks import unpaired
from truebench_hf.types import Score

pytestmark = pytest.mark.filterwarnings("error")

T, F, X = True, False, None
T9 = t.ppf(0.975, 9)  # Student's t: of clusters alike, one degree of freedom less than those
SURE = 10 / (10 + T9**2)  # the lower end of ten clusters that are right in all
ONES = [1.0] * 20
FIVE = Score(5.0, 50, 0, (4.6, 5.4))


def effective(share: float, n: float, freedom: float) -> Any:
    return pytest.approx(effective_interval(share, n, freedom), abs=1e-9)


def mcnemar(won: int, lost: int) -> PairedDifference:
    """Nine pairs, of which the first wins and loses so many."""
    alike = [T] * (9 - won - lost)
    return paired_difference([T] * won + [F] * lost + alike, [F] * won + [T] * lost + alike)


def by_shares(first: tuple[float, int], second: tuple[float, int]) -> int:
    """Who is ahead of two shares without pairs, on the scale to 100."""
    ends = [wilson(round(share * n), n) for share, n in (first, second)]
    scores = [
        Score(100 * share, n, 0, (100 * low, 100 * high))
        for (share, n), (low, high) in zip((first, second), ends, strict=True)
    ]
    return unpaired(*scores)


def mean_of_classes(*yes_and_no: tuple[int, int]) -> Any:
    """The interval of the mean of two shares, where each cluster is right in all it has of the two classes."""
    of = np.array(yes_and_no, dtype=float)[:, None, :]
    return clustered_mean(of, of)


def mean_of_strata(*places: int) -> Any:
    """The same of strata, where each cluster lies in one."""
    of = np.zeros((len(places), 4, 1))
    of[range(len(places)), places, 0] = 1
    return clustered_mean(of, of)


# Five clusters of a class weigh 0.5 / 10 + 0.5 / 5, five 0.5 / 10: together like 1 / 0.125 = 8 clusters alike.
N_RARE, T_RARE = 1 / (0.5 / 10**0.5 + 0.5 / 5**0.5) ** 2, t.ppf(0.975, 1 / (5 * 0.15**2 + 5 * 0.05**2) - 1)


@worked(
    (wilson, (0, 0), None, "no units"),
    (clustered_share, ([1] * 10, [1] * 10), (SURE, 1.0), "a perfect score is not certain: n is the number of clusters"),
    (clustered_share, ([0] * 10, [1] * 10), (0.0, 1 - SURE), "and at the other end"),
    (clustered_share, ([4] * 10, [4] * 10), effective(1, 10, 9), "however many rows a cluster has"),
    # 48 rows in clusters of 1, 3 and 8 weigh like 48^2 / 296 = 7.78 clusters alike (Kish).
    (clustered_share, ([1, 3, 8] * 4, [1, 3, 8] * 4), effective(1, 12, 48**2 / 296 - 1), "and however they differ"),
    (clustered_share, ([0.5] * 10, [1] * 10), effective(0.5, 10, 9), "they agree on a half as well"),
    (clustered_share, ([1, 2] * 5, [2, 4] * 5), effective(0.5, 10, 8), "which may be of different numbers of rows"),
    (clustered_share, ([1, 1, 0, 1, 0, 1, 1, 0, 1, 0], [1] * 10), effective(0.6, 9, 9), "one row each: n - 1"),
    (clustered_share, ([1, 0] * 5 + [0] * 9, [1, 1] * 5 + [0] * 9), effective(0.5, 9, 9), "a cluster with nothing"),
    # One of 12 checklists of 4 fails one criterion. Between clusters, 48 rows count as 47; half of what is missing
    # to one unit a cluster is added, since one cluster dissents.
    (clustered_share, ([4] * 11 + [3], [4] * 12), effective(47 / 48, 1 / (1 / 47 + (1 / 12 - 1 / 47) / 2), 11),
     "a single dissenter proves little"),
    (clustered_share, ([1.0] * 9, [1.0] * 9), None, "nine clusters"),
    (clustered_share, ([1.0] * 9 + [0.0] * 9, [1.0] * 9 + [0.0] * 9), None, "nine that hold anything"),
    (mean_of_classes, ((1, 1),) * 10, (SURE, 1.0), "ten clusters right in all they have: TPR and TNR of 1"),
    (mean_of_classes, ((1, 1),) * 5 + ((1, 0),) * 5, (N_RARE / (N_RARE + T_RARE**2), 1.0), "fewer of the rarer class"),
    (mean_of_classes, ((1, 1),) + ((1, 0),) * 9, None, "one cluster alone says nothing of its class"),
    (mean_of_strata, (0, 1, 2, 3) * 3, (12 / (12 + t.ppf(0.975, 8) ** 2), 1.0), "four strata: 12 units, 12 - 4 degrees"),
    (mean_of_strata, (1, 1, 2, 3, 1, 1, 2, 3, 0, 1, 2, 3), None, "a stratum of one cluster"),
    (mean_of_strata, (0, 1, 2) * 4, None, "an empty one"),
    (clustered_mean, (np.array([[[1.0, 0.0]], [[0.0, 1.0]]] * 6), np.ones((12, 1, 2))), effective(0.5, 12, 11),
     "judges who disagree on every document: shares that make up for one another are not certain"),
    (resampled_ratio, ([], []), None, "nothing"),
    (resampled_ratio, ([1.0] * 9, [1.0] * 9), None, "fewer than ten clusters"),
    (resampled_ratio, ([0.0] * 3 + [1.0] * 9, [0.0] * 3 + [1.0] * 9), None, "nine of them count"),
    (resampled_ratio, (ONES, ONES), clustered_share(ONES, ONES), "all alike claims no certainty"),
    (resampled_difference, ((ONES, ONES), (ONES, ONES)), None, "nor does a difference of such"),
    (effective_interval, (0.0, 7), pytest.approx(wilson(0, 7), abs=1e-4), "Wilson's"),
    (effective_interval, (0.5, 1), pytest.approx((0.0546, 0.9454), abs=1e-4), "one unit"),
    (paired_difference, ([], []), {"value": None, "ci95": None, "unscored": 0}, "empty"),
    (paired_difference, ([T], [F]), {"value": 1.0, "ci95": None}, "one instance has no spread"),
    (paired_difference, ([T, X], [X, T]), {"value": None, "ci95": None, "unscored": 2}, "no instance has both"),
    (paired_difference, ([T] * 10 + [X], [F] * 11), {"value": 1.0, "ci95": pytest.approx((0.472358, 1.0), abs=1e-5),
                                                     "unscored": 1, "n": 10}, "always ahead: not certain"),
    # t x sqrt(2 / 12 / 12)
    (paired_difference, ([T, F] * 5, [T, F] * 5),
     {"value": 0.0, "ci95": pytest.approx((-0.266593, 0.266593), abs=1e-5)}, "the same answers"),
    (paired_difference, ([1.0, 0.5] * 5, [0.5, 0.0] * 5),
     {"value": 0.5, "ci95": pytest.approx((-0.200788, 0.86228), abs=1e-5)}, "always ahead by the same"),
    (paired_difference, ([0.9] * 9, [0.1] * 9), {"value": 0.8, "ci95": None, "p_value": None, "ahead": 0}, "few scores"),
    (paired_difference, ([0.9] * 10, [0.1] * 10), {"ahead": 1}, "ten are enough"),
    (mcnemar, (2, 0), {"ci95": None, "ahead": 0, "n": 9, "p_value": 0.5}, "two instances separate nobody"),
    (mcnemar, (8, 1), {"ahead": 1, "p_value": 2 * (1 + 9) / 512}, "eight of nine"),
    (by_shares, ((0.6907, 1329), (0.5944, 1329)), 1, "9.6 points in two thousand"),
    (by_shares, ((1.0, 10), (0.0, 10)), 1, "Wilson: 0.72 to 1 and 0 to 0.28"),
    (by_shares, ((1.0, 1000), (0.0, 9)), 0, "nine instances separate nothing"),
    (unpaired, (FIVE, Score(4.0, 50, 0, (3.5, 4.4)),), 1, "any scale: 1 apart, half of it in the ends"),
    (unpaired, (FIVE, Score(4.0, 50),), 0, "no interval"),
    (unpaired, (FIVE, Score(6.0, 50, 0, (5.6, 6.4)),), -1, "the other way round"),
    (clustered_difference, ([], [], []), PairedDifference(None, 0, 0), "nothing"),
    (clustered_difference, ([X, T], [T, X], ["a", "b"]), PairedDifference(None, 0, 2), "nothing that both decide"),
    (clustered_difference, ([T], [F], ["a"]), PairedDifference(1.0, 1, 0), "one; no interval of one cluster"),
    (clustered_difference, ([T, T, F, F], [T, F, T, F], list("äbc日")), PairedDifference(0.0, 4, 0), "one won, one lost"),
    (clustered_difference, ([T, T, F, X], [F, F, F, F], list("abcd")), PairedDifference(2 / 3, 3, 1), "two of three won"),
    (kish, ([3.0, 3.0],), 2.0, "equally weighted rows"),
    (allocate, ({"pass": 3}, 5), {"pass": 3}, "never more than there are"),
    (allocate, ({"pass": 1500, "fail": 500}, 200), {"pass": 150, "fail": 50}, "in proportion"),
    (allocate, ({"pass": 1900, "fail": 80, "undecided": 20}, 200), {"pass": 187, "fail": 8, "undecided": 5}, "a few rare"),
    (allocate, ({"pass": 1997, "fail": 0, "undecided": 3}, 200), {"pass": 197, "fail": 0, "undecided": 3}, "all rarest"),
    (allocate, ({"pass": 1000, "fail": 10, "undecided": 10}, 15), {"pass": 5, "fail": 5, "undecided": 5}, "few labels"),
    (allocate, ({"pass": 10_000, "undecided": 100}, 200), {"undecided": AT_LEAST}, "the rare get no more than a few"),
)  # fmt: skip
def test_by_hand(call: Callable[..., Any], arguments: Any, expected: Any, why: str) -> None:
    check(call(*arguments), expected, why)


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (1810, 2485), (1, 10_000)])
def test_wilson_is_that_of_statsmodels_and_scipy(successes: int, n: int) -> None:
    from statsmodels.stats.proportion import proportion_confint

    low, high = wilson(successes, n)
    assert (low, high) == pytest.approx(proportion_confint(successes, n, alpha=0.05, method="wilson"), abs=1e-12)
    theirs = scipy.stats.binomtest(successes, n).proportion_ci(0.95, method="wilson")
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert 0 <= low <= successes / n <= high <= 1


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (1, 0), (5, 1), (30, 12), (12, 30), (700, 640), (0, 2000)])
def test_mcnemar_is_that_of_statsmodels(won: int, lost: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar as library

    gap = paired_difference([1] * won + [0] * lost + [1] * 20, [0] * won + [1] * lost + [1] * 20)
    # The library divides by 0 where nothing differs.
    theirs = float(library([[20, won], [lost, 0]], exact=True).pvalue) if won + lost else 1.0
    assert gap.p_value == pytest.approx(theirs)


def test_rows_that_go_together_count_less() -> None:
    generator = np.random.default_rng(5)
    of = generator.integers(1, 9, size=40)
    apart, together = generator.binomial(of, 0.7), np.where(np.arange(40) % 10 < 7, of, 0)
    narrow, wide = clustered_share(apart.tolist(), of.tolist()), clustered_share(together.tolist(), of.tolist())
    assert wide[1] - wide[0] > 1.5 * (narrow[1] - narrow[0])


def test_it_is_never_narrower_than_a_bootstrap_by_scipy() -> None:
    values = np.random.default_rng(1).integers(0, 2, 40).astype(float)
    theirs = scipy.stats.bootstrap((values,), np.mean, method="percentile", n_resamples=4000, random_state=1)
    low, high = resampled_ratio(list(values), [1.0] * 40)
    assert max(low - theirs.confidence_interval.low, theirs.confidence_interval.high - high) <= 0.02


def test_a_difference_draws_the_same_clusters_for_both() -> None:
    """What hardness of clusters adds to both cancels out: the interval is far shorter than that of each."""
    draw, ones = np.random.default_rng(2), [1.0] * 60
    hard = draw.random(60)
    first, second = [(hard > 0.5) * 1.0, ((hard > 0.5) | (draw.random(60) < 0.1)) * 1.0]
    low, high = resampled_difference((list(second), ones), (list(first), ones))
    single = resampled_ratio(list(first), ones)
    assert 0 <= low <= high
    assert high - low < (single[1] - single[0]) * 0.8


def test_many_clusters_are_drawn_some_draws_at_a_time_and_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    ratios = [([1.0, 0.0] * 30, [1.0] * 60), ([1.0] * 60, [1.0, 2.0] * 30)]
    together = intervals.drawn_ratios(ratios, seed=3)
    monkeypatch.setattr(intervals, "_KEPT", 7)  # 466 draws at a time, the last time 272
    for first, second in zip(together, intervals.drawn_ratios(ratios, seed=3), strict=True):
        assert first.shape == second.shape == (intervals.DRAWS,)
        assert np.allclose(first, second, rtol=0, atol=1e-12), "no draw is another one"


# Differences

# How often only the first passes, and only the second: apart, nearly alike, equal, and never apart.
DISCORDANT = (
    (0.5, 0.1), (0.05, 0.15), (0.1, 0.0), (0.02, 0.0), (0.3, 0.1), (0.3, 0.0), (0.5, 0.0), (0.8, 0.05), (0.95, 0.0),
    (0.6, 0.3), (0.0, 0.0), (0.01, 0.01), (0.05, 0.05), (0.1, 0.1), (0.25, 0.25), (0.4, 0.4), (0.5, 0.5),
)  # fmt: skip


@pytest.mark.parametrize("n", [10, 12, 15, 20, 40])
def test_paired_differences_of_few_instances_cover_the_truth_and_separate_no_equals(n: int) -> None:
    """Every outcome is weighed by how likely it is: no simulation."""
    cells = np.array([(won, lost) for won in range(n + 1) for lost in range(n + 1 - won)])
    pairs = [
        paired_difference([1] * won + [0] * (n - won), [0] * won + [1] * lost + [0] * (n - won - lost))
        for won, lost in cells
    ]
    ends = np.array([pair.ci95 or (np.nan, np.nan) for pair in pairs])
    for first, second in DISCORDANT:
        chance = multinomial.pmf(np.c_[cells, n - cells.sum(axis=1)], n, [first, second, max(0, 1 - first - second)])
        gap = first - second
        assert chance @ ((ends[:, 0] <= gap + 1e-12) & (gap - 1e-12 <= ends[:, 1])) >= 0.93, (first, second)
        assert first != second or chance @ ((ends[:, 0] > 0) | (ends[:, 1] < 0)) <= 0.05, first


def test_other_scores_have_the_interval_of_a_mean_over_clusters() -> None:
    rng = np.random.default_rng(11)
    for n in (10, 11, 25, 300):
        for first, second in ((rng.random(n), rng.random(n)), (rng.integers(0, 3, n) / 2, rng.integers(0, 3, n) / 2)):
            gap = paired_difference(first.tolist(), second.tolist())
            wanted = clustered_share(((1 + first - second) / 2).tolist(), [1.0] * n)
            assert gap.ci95 == pytest.approx([2 * end - 1 for end in wanted], abs=1e-9)
            assert gap.p_value is None


def test_where_one_side_has_nothing_the_interval_is_that_of_the_share() -> None:
    gap = clustered_difference([T] * 6 + [F] * 14, [F] * 20, list(range(20)))
    share, nothing = clustered_share([1.0] * 6 + [0.0] * 14, ONES), clustered_share([0.0] * 20, ONES)
    assert gap.value == pytest.approx(0.3)
    assert gap.ci95 == pytest.approx((0.3 - ((0.3 - share[0]) ** 2 + nothing[1] ** 2) ** 0.5, share[1]))


def test_turned_round_it_is_the_same_with_the_other_sign() -> None:
    draw = random.Random(1)
    first, second = ([draw.random() < p for _ in range(90)] for p in (0.6, 0.3))
    names = [f"{i % 15}" for i in range(90)]
    gap, other = clustered_difference(first, second, names), clustered_difference(second, first, names)
    assert other.ci95 == pytest.approx((-gap.ci95[1], -gap.ci95[0]))
    assert (gap.ahead, other.ahead) == (1, -1)


# Shares from many verdicts and few labels


def sampled(strata: dict[str, tuple[int, int, int]]) -> tuple[list[str], list[str | None]]:
    """Verdicts and gold labels of a run, from (units, of these labelled yes, labelled no) a stratum."""
    verdicts, gold = list[str](), list[str | None]()
    for name, (n, yes, no) in strata.items():
        verdicts += [name] * n
        gold += ["yes"] * yes + ["no"] * no + [None] * (n - yes - no)
    return verdicts, gold


def estimate(**strata: tuple[int, int, int]) -> Any:
    return double_sampling(*sampled(strata)).estimate


def test_double_sampling_by_hand() -> None:
    # 600 judged to pass, 300 to fail, 100 undecided: 0.6 x 0.9 + 0.3 x 0.2 + 0.1 x 0.5.
    three = double_sampling(*sampled({"pass": (600, 90, 10), "fail": (300, 10, 40), "undecided": (100, 10, 10)}))
    check(three.strata, [{"name": "fail", "n": 300, "labelled": 50, "share": 0.2},
                           {"name": "pass", "n": 600, "labelled": 100, "share": 0.9},
                           {"name": "undecided", "n": 100, "labelled": 20, "share": 0.5}])  # fmt: skip
    within = 0.36 * 0.09 / 100 + 0.09 * 0.16 / 50 + 0.01 * 0.25 / 20
    between = (0.6 * 0.25**2 + 0.3 * 0.45**2 + 0.1 * 0.15**2) / 1000
    result = three.estimate
    assert result.estimate == pytest.approx(0.65)
    # The two labels added to each stratum change the variance a little.
    assert result.effective_labels == pytest.approx(0.65 * 0.35 / (within + between), rel=0.05)
    assert result.ci95 == pytest.approx(effective_interval(0.65, result.effective_labels))
    everything = estimate(**{"pass": (60, 50, 10), "fail": (40, 10, 30)})
    check(everything, {"estimate": 0.6, "effective_labels": pytest.approx(100, rel=1e-3)}, "every unit labelled")
    assert everything.ci95 == pytest.approx(wilson(60, 100), abs=1e-4)
    blind = estimate(**{"pass": (500, 25, 25), "fail": (500, 25, 25)})
    assert blind.effective_labels == pytest.approx(100, rel=0.01), "the worth of the labels alone"


@pytest.mark.parametrize(
    ("strata", "share", "reason"),
    [
        ({"pass": (900, 90, 0), "fail": (100, 10, 0)}, 1.0, "every label is yes"),
        ({"pass": (900, 0, 90), "fail": (100, 0, 10)}, 0.0, "every label is no"),
        ({"pass": (900, 20, 0)}, 1.0, "one stratum, all alike"),
        ({"pass": (500, 50, 0), "fail": (500, 0, 50)}, 0.5, "the judge was never wrong on 100 labels"),
    ],
)
def test_labels_that_all_agree_prove_nothing_for_certain(strata: Any, share: float, reason: str) -> None:
    result, labels = estimate(**strata), sum(yes + no for _, yes, no in strata.values())
    low, high = result.ci95
    assert result.estimate == share, reason
    assert 0 <= low <= share <= high <= 1
    assert high - low > 0.02, f"{reason}: an interval of no width would be certain"
    assert labels * 0.99 <= result.effective_labels < sum(n for n, _, _ in strata.values()), reason


@each_row(__file__, "intervals", "it_is_withheld_with_the_remedy")
def test_it_is_withheld_with_the_remedy(strata: Any, message: str | None) -> None:
    result = estimate(**strata)
    assert (message or "") in (result.withheld or "")
    assert all((value is None) is bool(message) for value in (result.estimate, result.ci95, result.effective_labels))


def test_strata_labels_and_weights() -> None:
    verdicts, gold = sampled({"pass": (60, 20, 10), "fail": (40, 5, 15)})
    plain = double_sampling(verdicts, gold)
    assert double_sampling(verdicts, ["unknown" if g is None else g for g in gold]) == plain
    assert combined([*plain.strata, Stratum("undecided", 0, 0, None, 0.0)]) == plain.estimate, "of size 0"
    verdicts, gold = sampled({"fail": (20, 5, 5), "new": (5, 1, 1), "pass": (20, 5, 5)})
    result = double_sampling(verdicts, gold, order=("pass", "fail", "undecided"))
    assert [stratum.name for stratum in result.strata] == ["pass", "fail", "new"]
    # Ten of the 100 that pass, all 20 that fail: unweighted the labels alone would say 10 of 30.
    verdicts, gold = sampled({"pass": (100, 10, 0), "fail": (20, 0, 20)})
    result = double_sampling(verdicts, gold, weights=[10.0] * 100 + [1.0] * 20)
    assert result.estimate.estimate == pytest.approx(100 / 120)
    # Within a stratum, too: a unit that was four times as likely to be drawn counts a quarter.
    uneven = double_sampling(["pass"] * 20, ["yes"] * 10 + ["no"] * 10, weights=[4.0] * 10 + [1.0] * 10)
    check(uneven.strata[0], {"share": 0.8, "effective": 50**2 / 170})


def test_criteria_of_one_instance_count_as_dependent() -> None:
    # 20 of 40 instances are labelled, ten like criteria each: as good as 20 labels, not as 200.
    groups = [i // 10 for i in range(400)]
    gold = [("yes" if group % 2 else "no") if group < 20 else None for group in groups]
    together, apart = (double_sampling(["pass"] * 400, gold, groups=g).estimate for g in (groups, None))
    assert apart.effective_labels == pytest.approx(200, rel=0.02)
    assert together.effective_labels == pytest.approx(19, rel=1e-3)
    assert together.estimate == apart.estimate
    alike = double_sampling(["pass"] * 300, ["yes"] * 150 + [None] * 150, groups=groups[:300]).estimate
    assert (alike.estimate, alike.effective_labels) == (1.0, 15), "where all agree their instances are counted"
    few = ["pass"] * 200, ["yes", "no"] * 45 + [None] * 110
    assert "9 labelled instances, 10 are needed" in double_sampling(*few, groups=groups[:200]).estimate.withheld
    assert double_sampling(*few).estimate.withheld is None, "independent units may be fewer in kind"
    halves = double_sampling(["pass"] * 40, ["yes", "no"] * 20, groups=[i // 2 for i in range(40)]).estimate.ci95
    assert 0.1 < halves[0] < 0.42 < 0.58 < halves[1] < 0.9, "instances of the same share prove no certainty"


@pytest.mark.parametrize("met", [{4}, {4, 7}, set(range(0, 14, 2))], ids=["one dissents", "two", "half"])
def test_criteria_have_the_variance_of_any_clustered_share(met: set[int]) -> None:
    """With all units labelled in one stratum the estimate is the share, and one rule holds for shares."""
    sizes = [1, 2, 3, 5, 9, 1, 1, 4, 2, 2, 7, 3, 5, 2]
    groups = [i for i, size in enumerate(sizes) for _ in range(size)]
    gold = ["no" if group in met else "yes" for group in groups]
    result = double_sampling(["pass"] * len(groups), gold, groups=groups).estimate
    alone = clustered_share([0 if i in met else size for i, size in enumerate(sizes)], sizes)
    assert result.effective_labels < 14, "a dissenting instance changes more than one of even size"
    assert result.ci95[1] - result.ci95[0] > 0.95 * (alone[1] - alone[0])


@pytest.mark.parametrize("sizes", [{"a": 6, "b": 6, "c": 2}, {"a": 1337, "b": 91, "c": 7}, {"a": 10, "b": 10, "c": 10}])
def test_more_labels_hold_fewer(sizes: dict[str, int]) -> None:
    # Rounding by the largest remainder fails on 6, 6, 2: of 10 labels the third gets 2, of 11 it gets 1.
    before = dict.fromkeys(sizes, 0)
    for n in range(1, min(400, sum(sizes.values())) + 1):
        now = allocate(sizes, n)
        assert sum(now.values()) == n
        assert sorted(now[name] - before[name] for name in sizes) == [0] * (len(sizes) - 1) + [1]
        before = now
