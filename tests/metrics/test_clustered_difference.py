"""The paired difference of two shares over clusters: by hand, at the edges, and how often its interval covers."""

from __future__ import annotations

import random
from typing import Any

import pytest

from truebench_hf.errors import UserError
from truebench_hf.metrics.comparison import PairedDifference, clustered_difference
from truebench_hf.metrics.intervals import clustered_share

Y, N = True, False


@pytest.mark.parametrize(
    ("first", "second", "clusters", "expected", "why"),
    [
        ([], [], [], PairedDifference(None, None, 0, 0), "nothing"),
        ([None, Y], [Y, None], ["a", "b"], PairedDifference(None, None, 0, 2), "nothing that both decide"),
        ([Y], [N], ["a"], PairedDifference(1.0, None, 1, 0), "one; no interval of one cluster"),
        ([Y, Y, N, N], [Y, N, Y, N], list("äbc日"), PairedDifference(0.0, None, 4, 0), "one won, one lost"),
        ([Y, Y, N, None], [N, N, N, N], list("abcd"), PairedDifference(2 / 3, None, 3, 1), "two of three won"),
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
    assert found.interval is not None
    assert share is not None
    assert nothing is not None
    assert found.difference == pytest.approx(0.3)
    assert found.interval[1] == pytest.approx(share[1])
    assert found.interval[0] == pytest.approx(0.3 - ((0.3 - share[0]) ** 2 + nothing[1] ** 2) ** 0.5)


def test_turned_round_it_is_the_same_with_the_other_sign() -> None:
    draw = random.Random(1)
    first, second, clusters = ([draw.random() < p for _ in range(90)] for p in (0.6, 0.3, 0.5))
    names = [f"{i % 15}" for i in range(len(clusters))]
    one, other = clustered_difference(first, second, names), clustered_difference(second, first, names)
    assert one.interval is not None
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]))
    assert (one.ahead, other.ahead) == (1, -1)


def test_rows_of_one_instruction_count_for_less() -> None:
    first = [i % 2 == 0 for i in range(40)]
    alone = clustered_difference(first, [N] * 40, range(40))
    together = clustered_difference(sorted(first), [N] * 40, [i // 2 for i in range(40)])
    assert alone.interval is not None
    assert together.interval is not None
    assert together.interval[1] - together.interval[0] > alone.interval[1] - alone.interval[0]


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(UserError, match="first"):
        clustered_difference([Y], [Y, N], ["a", "b"])


@pytest.mark.slow
@pytest.mark.parametrize(("one", "other"), [(0.3, 0.3), (0.6, 0.3), (0.95, 0.05), (0.05, 0.05)])
@pytest.mark.parametrize("clusters", [10, 20, 50])
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
        found = clustered_difference(*columns).interval
        assert found is not None
        covered += found[0] <= one - other <= found[1]
    assert covered / rounds > 0.92
