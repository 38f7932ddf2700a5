"""Differences of two systems: paired by instance, over clusters, and of totals alone."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy.stats import multinomial

from truebench_hf.errors import UserError
from truebench_hf.metrics.comparison import PairedDifference, clustered_difference, paired_difference
from truebench_hf.metrics.intervals import clustered_share, wilson
from truebench_hf.metrics.ranks import unpaired
from truebench_hf.types import Score

pytestmark = pytest.mark.filterwarnings("error")


@pytest.mark.parametrize(
    ("first", "second", "difference", "interval", "left_out", "reason"),
    [
        ([], [], None, None, 0, "empty"),
        ([True], [False], 1.0, None, 0, "one instance has no spread"),
        ([True, None], [None, True], None, None, 2, "no instance has both"),
        ([True] * 9, [False] * 9, 1.0, None, 0, "nine instances say too little"),
        ([True] * 10, [False] * 10, 1.0, (0.472358, 1.0), 0, "always ahead: not certain"),
        (
            [True, False] * 5,
            [True, False] * 5,
            0.0,
            (-0.266593, 0.266593),
            0,
            "the same answers: t x sqrt(2 / 12 / 12)",
        ),
        ([1.0, 0.5] * 5, [0.5, 0.0] * 5, 0.5, (-0.200788, 0.86228), 0, "always ahead by the same"),
        ([True] * 10 + [None], [False] * 11, 1.0, (0.472358, 1.0), 1, "the undecided instance is left out"),
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
    found = paired_difference(first, second)
    assert found.value == difference, reason
    assert found.ci95 == (interval if interval is None else pytest.approx(interval, abs=1e-5)), reason
    assert found.unscored == left_out, reason


@pytest.mark.parametrize(
    ("won", "lost", "p_value", "ahead", "reason"),
    [
        (2, 0, 0.5, 0, "two instances separate nobody"),
        (5, 0, 2 / 32, 0, "five in a row happen by chance"),
        (6, 0, 2 / 64, 1, "six hardly"),
        (0, 6, 2 / 64, -1, "the other way round"),
        (8, 1, 2 * (1 + 9) / 512, 1, "eight of nine"),
        (7, 2, 2 * (1 + 9 + 36) / 512, 0, "seven of nine"),
        (0, 0, 1.0, 0, "never apart"),
    ],
)
def test_few_pairs_are_compared_by_mcnemar(won: int, lost: int, p_value: float, ahead: int, reason: str) -> None:
    first, second = [True] * won + [False] * lost, [False] * won + [True] * lost
    alike = [True] * (9 - won - lost)
    found = paired_difference(first + alike, second + alike)
    assert (found.ci95, found.ahead, found.n) == (None, ahead, 9), reason
    assert found.p_value == pytest.approx(p_value), reason


def test_few_scores_between_0_and_1_are_not_compared() -> None:
    found = paired_difference([0.9] * 9, [0.1] * 9)
    assert (found.value, found.ci95, found.p_value, found.ahead) == (pytest.approx(0.8), None, None, 0)
    assert paired_difference([0.9] * 10, [0.1] * 10).ahead == 1


@pytest.mark.parametrize(
    ("first", "second", "ahead", "reason"),
    [
        ((0.6907, 1329), (0.5944, 1329), 1, "9.6 points in two thousand"),
        ((0.5944, 1329), (0.6907, 1329), -1, "the other way round"),
        ((0.5967, 1329), (0.5944, 1329), 0, "0.2 points"),
        ((1.0, 10), (0.0, 10), 1, "Wilson: 0.72 to 1 and 0 to 0.28"),
        ((1.0, 1000), (0.0, 9), 0, "nine instances separate nothing"),
        ((1.0, 10), (1.0, 1000), 0, "equal shares"),
    ],
)
def test_two_shares_without_pairing(
    first: tuple[float, int], second: tuple[float, int], ahead: int, reason: str
) -> None:
    scores = [Score(100 * share, n, 0, _percent(wilson(round(share * n), n))) for share, n in (first, second)]
    assert unpaired(*scores) == ahead, reason


def _percent(ends: tuple[float, float] | None) -> tuple[float, float]:
    assert ends is not None
    return 100 * ends[0], 100 * ends[1]


@pytest.mark.parametrize(
    ("second", "ahead", "reason"),
    [
        (Score(4.0, 50, 0, (3.5, 4.4)), 1, "any scale: 1 apart, half of it in the ends"),
        (Score(4.0, 50, 0, (3.0, 5.0)), 0, "the ends reach too far"),
        (Score(4.0, 50), 0, "no interval"),
        (Score(None, 0, 9), 0, "no score"),
        (Score(6.0, 50, 0, (5.6, 6.4)), -1, "the other way round"),
    ],
)
def test_two_scores_by_their_intervals(second: Score, ahead: int, reason: str) -> None:
    assert unpaired(Score(5.0, 50, 0, (4.6, 5.4)), second) == ahead, reason


# How often only the first passes, and only the second: apart, nearly alike, equal, and never apart.
DISCORDANT = (
    (0.5, 0.1), (0.05, 0.15), (0.1, 0.0), (0.02, 0.0), (0.3, 0.1), (0.3, 0.0), (0.5, 0.0), (0.8, 0.05), (0.95, 0.0),
    (0.6, 0.3), (0.0, 0.0), (0.01, 0.01), (0.05, 0.05), (0.1, 0.1), (0.25, 0.25), (0.4, 0.4), (0.5, 0.5),
)  # fmt: skip


@pytest.mark.parametrize("n", [10, 12, 15, 20, 40])
def test_paired_differences_of_few_instances_cover_the_truth_and_separate_no_equals(n: int) -> None:
    cells = np.array([(won, lost) for won in range(n + 1) for lost in range(n + 1 - won)])
    ends = np.empty((len(cells), 2))
    for place, (won, lost) in enumerate(cells):
        tied = n - won - lost
        found = paired_difference([1] * won + [0] * (n - won), [0] * won + [1] * lost + [0] * tied)
        ends[place] = found.ci95 or (np.nan, np.nan)
    for first, second in DISCORDANT:
        # Every outcome weighed by how likely it is: no simulation.
        chance = multinomial.pmf(np.c_[cells, n - cells.sum(axis=1)], n, [first, second, max(0, 1 - first - second)])
        gap = first - second
        held = (ends[:, 0] <= gap + 1e-12) & (gap - 1e-12 <= ends[:, 1])
        assert chance @ held >= 0.93, (first, second)
        if first == second:
            assert chance @ ((ends[:, 0] > 0) | (ends[:, 1] < 0)) <= 0.05, first


@pytest.mark.parametrize(("won", "lost"), [(0, 0), (1, 0), (5, 1), (30, 12), (12, 30), (700, 640), (0, 2000)])
def test_mcnemar_is_that_of_statsmodels(won: int, lost: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar as library

    n = won + lost
    found = paired_difference([1] * won + [0] * lost + [1] * 20, [0] * won + [1] * lost + [1] * 20)
    wanted = float(library([[20, won], [lost, 0]], exact=True).pvalue) if n else 1.0  # the library divides by 0 there
    assert found.p_value == pytest.approx(wanted)


def test_other_scores_have_the_interval_of_a_mean_over_clusters() -> None:
    rng = np.random.default_rng(11)
    for n in (10, 11, 25, 300):
        for first, second in ((rng.random(n), rng.random(n)), (rng.integers(0, 3, n) / 2, rng.integers(0, 3, n) / 2)):
            found = paired_difference(first.tolist(), second.tolist())
            wanted = clustered_share(((1 + first - second) / 2).tolist(), [1.0] * n)
            assert wanted is not None
            assert found.ci95 == pytest.approx([2 * end - 1 for end in wanted], abs=1e-9)
            assert found.p_value is None


def test_unequal_columns_are_refused() -> None:
    with pytest.raises(UserError, match="first has 1, second has 0"):
        paired_difference([True], [])


Y, N = True, False


@pytest.mark.parametrize(
    ("first", "second", "clusters", "expected", "why"),
    [
        ([], [], [], PairedDifference(None, 0, 0), "nothing"),
        ([None, Y], [Y, None], ["a", "b"], PairedDifference(None, 0, 2), "nothing that both decide"),
        ([Y], [N], ["a"], PairedDifference(1.0, 1, 0), "one; no interval of one cluster"),
        ([Y, Y, N, N], [Y, N, Y, N], list("äbc日"), PairedDifference(0.0, 4, 0), "one won, one lost"),
        ([Y, Y, N, None], [N, N, N, N], list("abcd"), PairedDifference(2 / 3, 3, 1), "two of three won"),
    ],
)
def test_differences_by_hand(
    first: list[Any], second: list[Any], clusters: list[str], expected: PairedDifference, why: str
) -> None:
    assert clustered_difference(first, second, clusters) == expected, why


def test_where_one_side_has_nothing_the_interval_is_that_of_the_share() -> None:
    first, clusters = [Y] * 6 + [N] * 14, list(range(20))
    found = clustered_difference(first, [N] * 20, clusters)
    share = clustered_share(list(map(float, first)), [1.0] * 20)
    nothing = clustered_share([0.0] * 20, [1.0] * 20)
    assert found.ci95 is not None
    assert share is not None
    assert nothing is not None
    assert found.value == pytest.approx(0.3)
    assert found.ci95[1] == pytest.approx(share[1])
    assert found.ci95[0] == pytest.approx(0.3 - ((0.3 - share[0]) ** 2 + nothing[1] ** 2) ** 0.5)


def test_turned_round_it_is_the_same_with_the_other_sign() -> None:
    draw = random.Random(1)
    first, second, clusters = ([draw.random() < p for _ in range(90)] for p in (0.6, 0.3, 0.5))
    names = [f"{i % 15}" for i in range(len(clusters))]
    one, other = clustered_difference(first, second, names), clustered_difference(second, first, names)
    assert one.ci95 is not None
    assert other.ci95 == pytest.approx((-one.ci95[1], -one.ci95[0]))
    assert (one.ahead, other.ahead) == (1, -1)


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(UserError, match="first"):
        clustered_difference([Y], [Y, N], ["a", "b"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("one", "other", "clusters"), [(0.3, 0.3, 10), (0.6, 0.3, 20), (0.95, 0.05, 10), (0.05, 0.05, 10), (0.6, 0.3, 50)]
)
def test_coverage(one: float, other: float, clusters: int) -> None:
    """Clusters of 1 to 8 rows, each with shares of its own."""
    draw, covered, rounds = random.Random(0), 0, 300
    for _ in range(rounds):
        columns: tuple[list[bool], list[bool], list[int]] = ([], [], [])
        for cluster in range(clusters):
            shares = [draw.betavariate(3 * share, 3 * (1 - share)) for share in (one, other)]
            for _ in range(draw.randint(1, 8)):
                for column, share in zip(columns, shares, strict=False):
                    column.append(draw.random() < share)
                columns[2].append(cluster)
        found = clustered_difference(*columns).ci95
        assert found is not None
        covered += found[0] <= one - other <= found[1]
    assert covered / rounds > 0.92
