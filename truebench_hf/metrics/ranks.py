"""Ranks of models: spans that hold, how far two rankings agree, one ranking fused out of several, and judges that favour
their own models.

A rank goes from 1 + the models surely better to N - the models surely worse. Rank correlation compares two rankings
(paper 000, Table 7, which does not name its kind, and Figure 4); paper 001, Table 4, and paper 004, Table 3a, give
Pearson's r. FACTS Grounding ranks models over judges and splits by Condorcet's method (paper 002, section 4). The paper
does not say what becomes of ties and cycles; here ties go by the mean score, and cycles are opened by Schulze's method
(2011), winning votes. It reports that judges give their own models 3.23 points more and does not say how that was formed;
here it is a difference of differences: a judge that is lenient to everybody prefers nobody.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from math import hypot, inf, isclose, isfinite
from typing import Any, Literal

import numpy as np

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import is_known, mean_of, parallel, ratio
from truebench_hf.metrics.comparison import MIN_PAIRS, Tally, ahead
from truebench_hf.metrics.intervals import MIN_CLUSTERS, drawn_ratios, draws, percentiles
from truebench_hf.types import Score

Results = Mapping[Any, float | None]  # instance -> its score (0..1; True and False are 1 and 0), None: undecided


@dataclass(frozen=True, slots=True)
class RankSpan:
    """The best and the worst place that a model may have. `approximate`: comparisons rest on totals alone, since not all
    models have results by instance."""

    first: int
    last: int
    approximate: bool = False

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def rank_spans(
    scores: Mapping[str, Score], results: Mapping[str, Results], *, ascending: bool = False
) -> dict[str, RankSpan]:
    """The rank of every model among all of these, from their scores and, of those that have any, their `results`.

    Two models that both have results are compared on the instances that both have (`paired_difference`; below ten of
    them McNemar's exact test), all others by the intervals of their scores (`unpaired`). `ascending`: less is better.
    One product of matrices counts all pairs: 200 models of 3,000 instances take half a second.
    """
    names = list(scores)
    held = [place for place, name in enumerate(names) if results.get(name)]
    sure = np.zeros((len(names), len(names)), dtype=int)
    if held:
        ids = dict.fromkeys(key for place in held for key in results[names[place]])
        columns = [[results[names[place]].get(key) for key in ids] for place in held]
        sure[np.ix_(held, held)] = ahead(tally(np.array(columns, dtype=float)))
    paired = np.zeros(len(names), dtype=bool)
    paired[held] = True
    for second, first in combinations(range(len(names)), 2):
        if not (paired[first] and paired[second]):
            sure[first, second] = unpaired(scores[names[first]], scores[names[second]])
            sure[second, first] = -sure[first, second]
    sure = -sure if ascending else sure
    better, worse = (sure < 0).sum(axis=1), (sure > 0).sum(axis=1)
    approximate = len(names) > 1 and not paired.all()
    return {name: RankSpan(1 + int(better[i]), len(names) - int(worse[i]), approximate) for i, name in enumerate(names)}


def unpaired(first: Score, second: Score) -> int:
    """1 where the first score is surely greater, -1 where the second is, else 0: for scores of which only totals are known.

    The 95 % interval of the difference is made of those of both scores (Zou and Donner 2008); for shares with Wilson's
    that is Newcombe's (1998, method 10). A score without an interval, or over fewer than `MIN_PAIRS`, separates nothing.
    """
    if first.value is None or second.value is None or first.ci95 is None or second.ci95 is None:
        return 0
    if min(first.n, second.n) < MIN_PAIRS:
        return 0
    (low, high), (floor, roof) = first.ci95, second.ci95
    gap = first.value - second.value
    below, above = hypot(first.value - low, roof - second.value), hypot(high - first.value, second.value - floor)
    return int(gap > below) - int(-gap > above)


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


_DRAWS = 2000
Coefficient = Literal["pearson", "spearman", "kendall"]


def correlation(x: Sequence[float | None], y: Sequence[float | None], kind: Coefficient) -> Score:
    """Pearson's r, Spearman's rho (ties at their mean rank) or Kendall's tau-b, by scipy; `n` pairs have both scores.

    None for fewer than two pairs, and where a column is constant, of Pearson's also where it is but for rounding. Raises
    `UserError` for columns of unequal length.
    """
    from scipy import stats

    total = parallel(x=x, y=y)
    # An endless score has a rank, but no distance from the mean.
    pairs = [
        (a, b)
        for a, b in zip(x, y, strict=True)
        if is_known(a) and is_known(b) and (kind != "pearson" or isfinite(a + b))
    ]
    library = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}[kind]
    value = None
    if all(len(set(column)) > 1 for column in zip(*pairs, strict=True)) and pairs:
        with warnings.catch_warnings(), suppress(stats.NearConstantInputWarning):
            warnings.simplefilter("error", stats.NearConstantInputWarning)
            value = float(library(*zip(*pairs, strict=True)).statistic)
    return Score(value, len(pairs), total - len(pairs))


def rank_agreement(x: Sequence[float | None], y: Sequence[float | None], *, seed: int = 0) -> dict[str, Score]:
    """`spearman` and `kendall`: Spearman's rho and Kendall's tau-b of two columns, a model a place, with their 95 % intervals.

    These are percentiles of a bootstrap over models. By simulation (normal scores, 10 to 31 models, correlations of 0.5
    to 0.95) they cover 94 % and more. None with fewer than `MIN_CLUSTERS` models, and where no draw differs from another
    (equal orders, say). Raises `UserError` for columns of unequal length.
    """
    agreement = {"spearman": correlation(x, y, "spearman"), "kendall": correlation(x, y, "kendall")}
    pairs = [pair for pair in zip(x, y, strict=True) if all(map(is_known, pair))]
    if agreement["spearman"].value is None or len(pairs) < MIN_CLUSTERS:
        return agreement
    # Both coefficients of every draw at once, from who stands above whom and how often each model was drawn.
    columns = np.array(pairs, dtype=float).T
    drawn = np.concatenate(list(draws(len(pairs), seed, _DRAWS)))
    first, second = ((column[:, None] > column).astype(float) - (column[:, None] < column) for column in columns)
    # A model's mid-rank less the mean rank is half of how many it stands above less how many above it.
    above, beside = drawn @ first.T, drawn @ second.T
    coefficients = {
        "spearman": _ratios(drawn, above * beside, above**2, beside**2),
        "kendall": _ratios(drawn, drawn @ (first * second), drawn @ np.abs(first), drawn @ np.abs(second)),
    }
    for name, values in coefficients.items():
        ends = percentiles(values)  # a draw of one and the same model tells nothing
        agreement[name] = replace(agreement[name], ci95=ends if ends and ends[1] - ends[0] > 1e-12 else None)
    return agreement


@dataclass(frozen=True)
class Trend:
    """The least-squares line of y on x, its R squared (None where y is constant), and a p-value of every point.

    That (two-sided) is how often a point would lie as far off the line through all others by chance, None where it
    cannot be said.
    """

    slope: float
    intercept: float
    r2: float | None
    p_values: tuple[float | None, ...]


def trend(x: Sequence[float], y: Sequence[float]) -> Trend | None:
    """The line through these points; None for fewer than three, and where all have the same x.

    A point is held against the line through all others (its externally studentised residual, Student's t with n - 3
    degrees of freedom). Raises `UserError` for columns of unequal length.
    """
    from scipy.special import stdtr

    n = parallel(x=x, y=y)
    across, up = np.array(x, dtype=float), np.array(y, dtype=float)
    if n < 3 or np.ptp(across) == 0:
        return None
    centred = across - across.mean()
    spread = float(centred @ centred)
    slope = float(centred @ up) / spread
    intercept = float(up.mean() - slope * across.mean())
    gaps = up - intercept - slope * across
    total, rest = float(((up - up.mean()) ** 2).sum()), float(gaps @ gaps)
    free = 1 - 1 / n - centred**2 / spread  # 1 less how far a point draws the line to itself
    with np.errstate(invalid="ignore", divide="ignore"):
        without = np.where(free > 1e-12, np.maximum(0.0, rest - gaps**2 / free), 0.0)
        p_values = 2 * stdtr(n - 3, -np.abs(gaps / np.sqrt(without / (n - 3) * free))) if n > 3 else without
    known = (without > 1e-12 * (total or 1.0)) & (n > 3)
    points = (float(p) if sure else None for p, sure in zip(p_values, known, strict=True))
    return Trend(slope, intercept, 1 - rest / total if total else None, tuple(points))


def _ratios(drawn: Any, together: Any, first: Any, second: Any) -> Any:
    """In each draw the sum of a product over the root of that of both alone."""
    sums = [(drawn * values).sum(axis=1) for values in (together, first, second)]
    with np.errstate(invalid="ignore", divide="ignore"):
        return sums[0] / np.sqrt(sums[1] * sums[2])


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
    wins = {  # in how many rankings the first stands above the second; equal scores are nobody's
        pair: sum(
            a is not None and b is not None and a > b and not isclose(a, b, abs_tol=1e-9)
            for a, b in zip(scores[pair[0]], scores[pair[1]], strict=True)
        )
        for pair in permutations(means, 2)
    }
    # The strength of the strongest path of majorities from one model to another, 0 without any.
    paths = {pair: count if count > wins[pair[::-1]] else 0 for pair, count in wins.items()}
    for via, pair in product(means, paths):
        if via not in pair:
            paths[pair] = max(paths[pair], min(paths[pair[0], via], paths[via, pair[1]]))
    places = _places(means, paths)
    order = list(places)
    even = [pair for pair in combinations(order, 2) if wins[pair] == wins[pair[::-1]]]
    by_mean = tuple(pair for pair in even if paths[pair] == paths[pair[::-1]] and places[pair[0]] != places[pair[1]])
    rings = dict.fromkeys(  # of models each of which has a path of majorities to every other
        tuple(other for other in order if other == model or (paths[model, other] and paths[other, model]))
        for model in order
    )
    cycles = tuple(ring for ring in rings if len(ring) > 1)
    return FusedRank({model: places.get(model) for model in scores}, by_mean, cycles)


# What judges gave: by model, judge and item (instance, answer); None was not decided.
Judged = Mapping[str, Mapping[str, Mapping[str, float | None]]]


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
    mine, rest = _leads(scores, judge, own)
    return SelfPreference(mine, rest, None if mine is None or rest is None else mine - rest)


def self_preference_over(samples: Sequence[Judged], judge: str, own: Collection[str]) -> SelfPreference:
    """As `self_preference`, from what judges gave item by item; of several independent `samples` (splits) the mean.

    Of a model those items count that all judges decided. The interval is a percentile bootstrap over the items, each
    drawn with all models and judges; there is none with fewer than `MIN_CLUSTERS` of them in a sample, nor where
    every draw is alike.
    """
    tables = [_sums(sample) for sample in samples]
    cells = {model: list(by_judge) for model, by_judge in samples[0].items()} if samples else {}
    means = {
        model: {name: mean_of(*(ratio(*map(sum, table[model, name])) for table in tables)) for name in names}
        for model, names in cells.items()
    }
    plain = self_preference(means, judge, own)
    if plain.preference is None or any(sum(counts) < MIN_CLUSTERS for table in tables for _, counts in table.values()):
        return plain
    drawn = [
        dict(zip(table, drawn_ratios(list(table.values()), seed=place), strict=True))
        for place, table in enumerate(tables)  # a seed each: equally long samples would be drawn alike
    ]
    mine, rest = _leads(
        {model: {name: sum(t[model, name] for t in drawn) / len(drawn) for name in names} for model, names in cells.items()},
        judge, own,
    )  # fmt: skip
    bounds = percentiles(mine - rest)
    return replace(plain, ci95=None if bounds is None or bounds[0] == bounds[1] else bounds)


def _leads(cells: Mapping[str, Mapping[str, Any]], judge: str, own: Collection[str]) -> tuple[Any, Any]:
    """What the judge gives beyond the mean of the other judges, to its own models and to the others: numbers or arrays.

    None without such models or other judges, and where a score is missing.
    """
    leads: dict[bool, list[Any]] = {True: [], False: []}
    for model, row in cells.items():
        others = [cell for name, cell in row.items() if name != judge]
        known = others and all(cell is not None for cell in row.values())
        leads[model in own].append(row[judge] - sum(others) / len(others) if known else None)
    mine, rest = (
        sum(side) / len(side) if side and all(lead is not None for lead in side) else None for side in leads.values()
    )
    return mine, rest


def _places(means: Mapping[str, float], paths: Mapping[tuple[str, str], int]) -> dict[str, int]:
    """The rank of each model, the best first: among those that nobody left beats, the highest mean."""
    left, places = dict(means), dict[str, int]()
    while left:
        beaten = {model for other, model in permutations(left, 2) if paths[other, model] > paths[model, other]}
        free = {model: mean for model, mean in left.items() if model not in beaten}
        best = max(free.values(), default=-inf)
        level = [model for model, mean in free.items() if isclose(mean, best, abs_tol=1e-9)]
        places |= dict.fromkeys(level, len(means) - len(left) + 1)
        left = {model: mean for model, mean in left.items() if model not in level}
    return places


def _sums(sample: Judged) -> dict[tuple[str, str], tuple[list[float], list[float]]]:
    """By model and judge, item for item in one order: what was given, and whether it counts."""
    items = list(dict.fromkeys(item for by_judge in sample.values() for scores in by_judge.values() for item in scores))
    sums = {}
    for model, by_judge in sample.items():
        counts = [all(scores.get(item) is not None for scores in by_judge.values()) for item in items]
        for name, scores in by_judge.items():
            top = [float(scores[item] or 0) if known else 0.0 for item, known in zip(items, counts, strict=True)]
            sums[model, name] = (top, list(map(float, counts)))
    return sums
