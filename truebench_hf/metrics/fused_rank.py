"""One ranking out of several, by Condorcet's method: a model stands above those that it beats on most rankings.

FACTS Grounding ranks models so over judges and splits (paper 002, section 4). The paper does not say what becomes of
ties and cycles; here ties go by the mean score, and cycles are opened by Schulze's method (2011), winning votes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, isclose

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import mean_of


@dataclass(frozen=True)
class FusedRank:
    """The rank of every model, 1 the best; equal where nothing tells two apart, None where a score is missing.

    `tied` are the pairs, in order of rank, that win equally many rankings and are told apart by nothing but the mean.
    `cycles` are the groups of models that beat each other in a ring, so that Schulze's method had to order them.
    """

    ranks: Mapping[str, int | None]
    tied: tuple[tuple[str, str], ...] = ()
    cycles: tuple[tuple[str, ...], ...] = ()


def fused_rank(scores: Mapping[str, Sequence[float | None]]) -> FusedRank:
    """Fuse the rankings that each column of scores gives: a row of scores a model, one per judge and split.

    Of two models the one that is higher in more columns stands above the other. Where pairs go round in a ring, the
    one with the stronger beat path does, the strength of a path being that of its weakest win. Among those that nobody
    left beats, the highest mean comes first. Raises `UserError` for rows of unequal length.
    """
    if len({len(row) for row in scores.values()}) > 1:
        raise UserError("every model needs one score per ranking")
    means = {model: mean for model, row in scores.items() if (mean := mean_of(*row)) is not None}
    wins = {(one, other): _wins(scores[one], scores[other]) for one in means for other in means if one != other}
    paths = _beat_paths(list(means), wins)
    places = {model: place for place, model in _ordered(means, paths)}
    order = list(places)
    even = [pair for pair in combinations(order, 2) if wins[pair] == wins[pair[::-1]]]
    by_mean = tuple(pair for pair in even if not _beaten(paths, *pair) and places[pair[0]] != places[pair[1]])
    return FusedRank({model: places.get(model) for model in scores}, by_mean, _cycles(order, paths))


def _wins(one: Sequence[float | None], other: Sequence[float | None]) -> int:
    """In how many rankings the one stands above the other; equal scores are nobody's."""
    pairs = zip(one, other, strict=True)
    return sum(a is not None and b is not None and a > b and not isclose(a, b, abs_tol=1e-9) for a, b in pairs)


def _beat_paths(models: Sequence[str], wins: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    """The strength of the strongest path of majorities from one model to another, 0 without any."""
    paths = {pair: count if count > wins[pair[::-1]] else 0 for pair, count in wins.items()}
    for via in models:
        for pair in paths:
            if via not in pair:
                paths[pair] = max(paths[pair], min(paths[pair[0], via], paths[via, pair[1]]))
    return paths


def _beaten(paths: Mapping[tuple[str, str], int], one: str, other: str) -> bool:
    """Whether one of the two beats the other, directly or by a path."""
    return paths[one, other] != paths[other, one]


def _ordered(means: Mapping[str, float], paths: Mapping[tuple[str, str], int]) -> Iterator[tuple[int, str]]:
    """(rank, model), the best first: among those that nobody left beats, the highest mean."""
    left = dict(means)
    while left:
        free = [one for one in left if not any(paths[other, one] > paths[one, other] for other in left if other != one)]
        best = max((left[model] for model in free), default=-inf)
        place = len(means) - len(left) + 1
        for model in free:
            if isclose(left[model], best, abs_tol=1e-9):
                yield place, model
                del left[model]


def _cycles(order: Sequence[str], paths: Mapping[tuple[str, str], int]) -> tuple[tuple[str, ...], ...]:
    """Groups of models each of which has a path of majorities to every other."""
    groups: list[list[str]] = []
    for model in order:
        for group in groups:
            if paths[model, group[0]] and paths[group[0], model]:
                group.append(model)
                break
        else:
            groups.append([model])
    return tuple(tuple(group) for group in groups if len(group) > 1)
