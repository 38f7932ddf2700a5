"""Ranks of models: spans that hold, one ranking fused out of several, and judges that favour their own models.

A rank goes from 1 + the models surely better to N - the models surely worse. FACTS Grounding ranks models over judges
and splits by Condorcet's method (paper 002, section 4). The paper does not say what becomes of ties and cycles; here
ties go by the mean score, and cycles are opened by Schulze's method (2011), winning votes. It reports that judges give
their own models 3.23 points more and does not say how that was formed; here it is a difference of differences: a judge
that is lenient to everybody prefers nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import inf, isclose
from typing import Any

import numpy as np

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import mean_of, ratio
from truebench_hf.metrics.comparison import Tally, ahead, unpaired
from truebench_hf.metrics.intervals import MIN_CLUSTERS, drawn_ratios, percentiles
from truebench_hf.types import Score

Results = Mapping[Any, float | None]  # instance -> its score (0..1; True and False are 1 and 0), None: undecided


@dataclass(frozen=True, slots=True)
class Entrant:
    """What is known of a model: its score, and its results by instance where there are any."""

    score: Score
    results: Results = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RankSpan:
    """The best and the worst place that a model may have. `approximate`: comparisons rest on totals alone, since not all
    models have results by instance."""

    first: int
    last: int
    approximate: bool = False

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def rank_spans(entrants: Mapping[str, Entrant], *, ascending: bool = False) -> dict[str, RankSpan]:
    """The rank of every model among all of these.

    Two models that both have results are compared on the instances that both have (`paired_difference`; below ten of
    them McNemar's exact test), all others by the intervals of their scores (`unpaired`). `ascending`: less is better.
    One product of matrices counts all pairs: 200 models of 3,000 instances take half a second.
    """
    names = list(entrants)
    held = [place for place, name in enumerate(names) if entrants[name].results]
    sure = np.zeros((len(names), len(names)), dtype=int)
    if held:
        sure[np.ix_(held, held)] = ahead(tally(_columns([entrants[names[place]].results for place in held])))
    paired = np.zeros(len(names), dtype=bool)
    paired[held] = True
    for one, first in enumerate(names):
        for other in range(one):
            if not (paired[one] and paired[other]):
                sure[one, other] = unpaired(entrants[first].score, entrants[names[other]].score)
                sure[other, one] = -sure[one, other]
    sure = -sure if ascending else sure
    better, worse = (sure < 0).sum(axis=1), (sure > 0).sum(axis=1)
    approximate = len(names) > 1 and not paired.all()
    return {name: RankSpan(1 + int(better[i]), len(names) - int(worse[i]), approximate) for i, name in enumerate(names)}


def tally(columns: Any) -> Tally:
    """All pairs of models counted; `columns` is an array of scores (models, instances), NaN where there is none."""
    known = (~np.isnan(columns)).astype(float)
    scores = np.nan_to_num(columns)
    passed, failed = (columns == 1).astype(float), (columns == 0).astype(float)
    between = known - passed - failed
    sums, squares = scores @ known.T, (scores * scores) @ known.T
    won, odd = passed @ failed.T, between @ known.T
    return Tally(
        known @ known.T, sums - sums.T, squares + squares.T - 2 * scores @ scores.T, won, won.T, odd + odd.T == 0
    )  # fmt: skip


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
    by_mean = tuple(pair for pair in even if paths[pair] == paths[pair[::-1]] and places[pair[0]] != places[pair[1]])
    return FusedRank({model: places.get(model) for model in scores}, by_mean, _cycles(order, paths))


# What judges gave: by model, judge and item (instance, answer); None was not decided.
Given = Mapping[str, Mapping[str, Mapping[str, float | None]]]


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """A judge's score less the mean of the other judges', in the unit of the scores: for its own models, for all others,
    and the difference of the two, with its 95 % interval over the items. None where there are no such models, or a
    score is missing."""

    own: float | None
    others: float | None
    preference: float | None
    ci95: tuple[float, float] | None = None


def self_preference(
    scores: Mapping[str, Mapping[str, float | None]], judge: str, own: Collection[str]
) -> SelfPreference:
    """The preference of `judge` for its `own` models; `scores` are those of every model (row) by every judge.

    With one judge alone there is nothing to compare it with, and all is None. Means alone give no interval.
    """
    leads = {model: _lead(row, judge) for model, row in scores.items()}
    mine = mean_of(*(lead for model, lead in leads.items() if model in own))
    rest = mean_of(*(lead for model, lead in leads.items() if model not in own))
    return SelfPreference(mine, rest, None if mine is None or rest is None else mine - rest)


def self_preference_over(
    samples: Sequence[Given], judge: str, own: Collection[str], *, seed: int = 0
) -> SelfPreference:
    """As `self_preference`, from what judges gave item by item; of several independent `samples` (splits) the mean.

    Of a model those items count that all judges decided. The interval is a percentile bootstrap over the items, each
    drawn with all models and judges; there is none with fewer than `MIN_CLUSTERS` of them in a sample, nor where
    every draw is alike.
    """
    tables = [_sums(given) for given in samples]
    models = list(samples[0]) if samples else []
    means: dict[str, dict[str, float | None]] = {
        model: {
            name: mean_of(*(ratio(*map(sum, table[model, name])) for table in tables))
            for name in samples[0][model]
        }
        for model in models
    }  # fmt: skip
    found = self_preference(means, judge, own)
    if found.preference is None or any(sum(counts) < MIN_CLUSTERS for table in tables for _, counts in table.values()):
        return found
    drawn = [
        dict(zip(table, drawn_ratios(list(table.values()), seed + place), strict=True))
        for place, table in enumerate(tables)  # a seed each: equally long samples would be drawn alike
    ]
    leads = {model: _drawn_lead(drawn, model, judge, list(means[model])) for model in models}
    mine, rest = ([leads[model] for model in models if (model in own) == side] for side in (True, False))
    bounds = percentiles(sum(mine) / len(mine) - sum(rest) / len(rest))
    return replace(found, ci95=None if bounds is None or bounds[0] == bounds[1] else bounds)


def _columns(results: Sequence[Results]) -> Any:
    ids = dict.fromkeys(key for one in results for key in one)
    return np.array([[one.get(key) for key in ids] for one in results], dtype=float)


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


def _lead(row: Mapping[str, float | None], judge: str) -> float | None:
    """What the judge gives beyond the mean of the other judges."""
    given, usual = row[judge], mean_of(*(score for name, score in row.items() if name != judge))
    return None if given is None or usual is None else given - usual


def _sums(given: Given) -> dict[tuple[str, str], tuple[list[float], list[float]]]:
    """By model and judge, item for item in one order: what was given, and whether it counts."""
    items = list(dict.fromkeys(item for by_judge in given.values() for scores in by_judge.values() for item in scores))
    found = {}
    for model, by_judge in given.items():
        counts = [all(scores.get(item) is not None for scores in by_judge.values()) for item in items]
        for name, scores in by_judge.items():
            top = [float(scores[item] or 0) if there else 0.0 for item, there in zip(items, counts, strict=True)]
            found[model, name] = (top, list(map(float, counts)))
    return found


def _drawn_lead(drawn: Sequence[Mapping[tuple[str, str], Any]], model: str, judge: str, judges: Sequence[str]) -> Any:
    cells = {name: sum(table[model, name] for table in drawn) / len(drawn) for name in judges}
    others = [cell for name, cell in cells.items() if name != judge]
    return cells[judge] - sum(others) / len(others)
