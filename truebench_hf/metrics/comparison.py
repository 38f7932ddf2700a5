"""Two models, or two ways to judge, on the same rows: the difference with its interval, and whether it is sure; and what
several judges of the same rubrics are worth together.

All that is needed of a pair of models is counted first (`Tally`), so that two models and all pairs of hundreds
(`ranks.py`) are compared by the same formulas. Judges that err on the same rubrics add little to one another: with k
judges and a mean correlation r of their errors a panel is worth k / (1 + (k - 1) r) independent votes (the design effect
of Kish, 1965). Errors are correlated among rubrics with the same label, since balanced accuracy takes the two labels apart
as well. None of the five papers has this.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import parallel
from truebench_hf.metrics.intervals import CONFIDENCE, MIN_CLUSTERS, clustered_share, draws
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame

# Fewer shared instances say too little for an interval: they are compared by McNemar's exact test.
MIN_PAIRS = 10


@dataclass(frozen=True, slots=True)
class PairedDifference(Score):
    """Mean of first minus second over the `n` instances that both have; `unscored` lack one of the two.

    With fewer than `MIN_PAIRS` there is no interval. `p_value` is McNemar's, None where a score is neither 0 nor 1.
    `ahead` is 1 where the first is surely better, -1 where the second is, else 0: by the interval, or where there is none
    by McNemar's test.
    """

    p_value: float | None = None
    ahead: int = 0


@dataclass(frozen=True)
class Tally:
    """What is counted of pairs of scores (0..1), each as an array of one shape, a place for every pair of models.

    `n` shared instances; the sum of first minus second (`gap`) and of its `squares`; the instances where the first has 1
    and the second 0 (`won`), and the reverse (`lost`); whether all shared scores are 0 or 1 (`binary`).
    """

    n: Any
    gap: Any
    squares: Any
    won: Any
    lost: Any
    binary: Any


def paired_difference(first: Sequence[float | None], second: Sequence[float | None]) -> PairedDifference:
    """The mean of first minus second over the instances that both have, with its interval.

    One score (0..1) an instance and model (True and False count as 1 and 0); None is not judged. Pass and fail: the
    interval of Bonett and Price (2012), Wald's after one instance was added for each of the models that it alone
    passed, with a t quantile. From ten pairs on it covers 93 % and more and separates equal models in at most 6 % of
    samples (a bootstrap: in 8), and at ten it goes on where McNemar's test left off. Other scores: the interval of
    `clustered_share` for the mean of (1 + first - second) / 2. Fewer than `MIN_PAIRS` shared instances are compared by
    McNemar's exact test. Raises `UserError` for columns of unequal length.
    """
    total = parallel(first=first, second=second)
    columns = np.array([first, second], dtype=float)
    first_known, second_known = columns[:, ~np.isnan(columns).any(axis=0)]
    n = len(first_known)
    if not n:
        return PairedDifference(None, 0, total)
    counted = tally(first_known, second_known)
    low, high = ends(counted)
    interval = (float(low), float(high)) if n >= MIN_PAIRS else None
    p_value = float(mcnemar(counted.won, counted.lost)) if counted.binary else None
    mean_gap = float((first_known - second_known).mean())
    return PairedDifference(mean_gap, n, total - n, interval, p_value, int(ahead(counted)))


def tally(first: Any, second: Any) -> Tally:
    """Count what is needed of two arrays of scores, all of them known."""
    gaps = first - second
    binary = bool(((first == 0) | (first == 1)).all() and ((second == 0) | (second == 1)).all())
    counts = (float(len(gaps)), gaps.sum(), (gaps * gaps).sum(), int((gaps == 1).sum()), int((gaps == -1).sum()))
    return Tally(*map(np.array, (*counts, binary)))


def ahead(pairs: Tally) -> Any:
    """1 where the first is surely better, -1 where the second is, else 0: an array of the pairs' shape."""
    low, high = ends(pairs)
    sure = (low > 0).astype(int) - (high < 0).astype(int)
    few = np.where(pairs.binary & (mcnemar(pairs.won, pairs.lost) < 1 - CONFIDENCE), np.sign(pairs.gap), 0)
    return np.where(pairs.n >= MIN_PAIRS, sure, few).astype(int)


def ends(pairs: Tally, confidence: float = CONFIDENCE) -> Any:
    """The ends of the interval of each mean difference, as `paired_difference` says; meant for `MIN_PAIRS` and more."""
    with np.errstate(invalid="ignore", divide="ignore"):
        # Of shares that of Bonett and Price (2012), from what only one of the two passed.
        won, lost = (pairs.won + 1) / (pairs.n + 2), (pairs.lost + 1) / (pairs.n + 2)
        centre = won - lost
        reach = _quantile(pairs.n, confidence) * np.sqrt((won + lost - centre * centre) / (pairs.n + 2))
        low, high = _of_means(pairs, confidence)
    return (
        np.where(pairs.binary, np.maximum(-1.0, centre - reach), low),
        np.where(pairs.binary, np.minimum(1.0, centre + reach), high),
    )


def mcnemar(won: Any, lost: Any) -> Any:
    """The two-sided p-value of McNemar's exact test (1947), of counts or arrays of them: of the instances that only one
    of two models passed, how many would be the first one's if an even coin decided.

    statsmodels has it too, and takes a second to import.
    """
    from scipy.special import bdtr

    n = np.add(won, lost).astype(int)
    return np.minimum(1.0, 2 * bdtr(np.minimum(won, lost).astype(float), n, 0.5))


def clustered_difference(
    first: Sequence[bool | None], second: Sequence[bool | None], clusters: Sequence[Hashable]
) -> PairedDifference:
    """The share of the first less that of the second over the rows where both are decided; None is undecided.

    What only one of the two has are two shares of the rows, each with the interval of `clustered_share`; that of their
    difference is made of both (Zou and Donner 2008, MOVER), with their correlation between clusters. None with fewer
    than ten clusters. Simulated with clusters of 1 to 8 alike or unlike rows it covers 95 % and more from ten clusters
    on; without the correlation it fell to 91 %. Raises `UserError` for columns of unequal length.
    """
    import pandas as pd

    total = parallel(first=first, second=second, clusters=clusters)
    columns = np.array([first, second], dtype=float)
    known = ~np.isnan(columns).any(axis=0)
    n = int(known.sum())
    left_out = total - n
    if not n:
        return PairedDifference(None, 0, left_out)
    codes = pd.factorize(pd.Series(list(clusters), dtype=object)[known])[0]
    gaps = columns[0, known] - columns[1, known]
    of, won, lost = (np.bincount(codes, weights) for weights in (np.ones(n), gaps > 0, gaps < 0))
    gain, loss = float(won.sum()) / n, float(lost.sum()) / n
    won_ends, lost_ends = clustered_share(won, of), clustered_share(lost, of)
    if won_ends is None or lost_ends is None:
        return PairedDifference(gain - loss, n, left_out)
    x, y = won - gain * of, lost - loss * of
    spread = sqrt(float((x * x).sum() * (y * y).sum()))
    together = float((x * y).sum()) / spread if spread > 1e-12 else 0.0
    (low, high), (floor, roof) = won_ends, lost_ends
    below, above = (
        sqrt(max(0.0, a * a + b * b - 2 * together * a * b))
        for a, b in ((gain - low, roof - loss), (high - gain, loss - floor))
    )
    interval = max(-1.0, gain - loss - below), min(1.0, gain - loss + above)
    return PairedDifference(gain - loss, n, left_out, interval, ahead=(interval[0] > 0) - (interval[1] < 0))


def linearised_difference(
    value: float, moves: Any, clusters: Any, left_out: int = 0, *, times: int = 1, least: float = 0.0
) -> PairedDifference:
    """Return a difference of two measures with its interval, from how far each row moves it: its derivative.

    `clusters` are codes from 0 on. The variance is that between clusters, with a t quantile, and two clusters as far
    apart as those that differ are on average added to it, as Bonett and Price (2012) do for shares: with few rows on
    which the two differ it would else find a difference in chance. Simulated, it covers the truth in 94 to 95 % of
    samples of 36 to 406 single rows, and of 92 % of twelve uneven clusters. None below ten clusters. `times` divides
    the level among so many comparisons; where no row moves it, clusters count as if one moved it by `least`.
    """
    count = int(clusters.max()) + 1 if len(clusters) else 0
    if count < MIN_CLUSTERS:
        return PairedDifference(value, len(moves), left_out)
    by_cluster = np.bincount(clusters, moves, count)
    apart = by_cluster[np.abs(by_cluster) > 1e-12] ** 2
    extra = 2 * (float(apart.mean()) if len(apart) else least**2)
    quantile = float(_quantile(count, 1 - (1 - CONFIDENCE) / times))
    reach = quantile * sqrt(float(apart.sum()) + extra)
    ends = max(-1.0, value - reach), min(1.0, value + reach)
    return PairedDifference(value, len(moves), left_out, ends, ahead=(ends[0] > 0) - (ends[1] < 0))


def _quantile(n: Any, confidence: float) -> Any:
    from scipy.special import stdtrit  # slower to import than all other scoring

    return stdtrit(np.maximum(n - 1, 1.0), (1 + confidence) / 2)


def _of_means(pairs: Tally, confidence: float) -> tuple[Any, Any]:
    """The interval of `clustered_share` for the mean of (1 + gap) / 2, every instance a cluster of its own, as a gap.

    `clustered_mean` says why: Wilson's formula at the n at which independent units would have the variance that was
    found, with what few dissenting instances lack of it added.
    """
    n = pairs.n
    share = np.round((1 + pairs.gap / n) / 2, 12)
    unit = np.where((share <= 0) | (share >= 1), 1.0, share * (1 - share))
    variance = np.maximum(0.0, pairs.squares - pairs.gap**2 / n) / 4 / (n * (n - 1)) / unit
    agreed = variance <= 1e-12
    dissent = np.where(agreed, 0, n - np.maximum(pairs.won, pairs.lost))
    missing = np.maximum(1 / n - variance, 0) / (1 + dissent)
    spread = _quantile(n, confidence) ** 2 * (variance + missing)
    centre = (share + spread / 2) / (1 + spread)
    reach = np.sqrt(share * (1 - share) * spread + spread * spread / 4) / (1 + spread)
    return 2 * (centre - reach) - 1, 2 * (centre + reach) - 1


FEWEST = 3  # judges: of two there is no majority


def panel_worth(frame: DataFrame) -> tuple[dict[str, Any], list[dict[str, Any]]] | None:
    """Return what the judges of a frame are worth together, and each; None below three, and unless both labels occur.

    `frame` has `judge`, `item`, `gold`, `label` ("yes" or "no"; "unknown" and a missing label cast no vote) and
    `cluster`. Items count that all `judges` have and that have a gold label, `n` of them. `votes` is the effective number
    of independent votes (1 to the number of judges), over what all decided. The `balanced_accuracy` of the majority is
    held against `best`, the judge with the highest one; a tie is decided by a coin (half right), and a rubric without any
    vote is wrong. `gain` is the difference with the interval of a judge that was picked on the same rows: its lower end
    is the lowest of the differences to each judge, its upper end the lowest at a level divided by the judges. `leave_out`
    is the judge without whom the majority is surely better, the one that costs most. Of each judge: its
    `balanced_accuracy`, the mean `correlation` of its errors with those of each other (None where it or all others never
    err), and what the majority gains `without` it. Intervals take clusters as independent; there are none below ten.
    Raises UserError where a judge has an item twice.
    """
    judges = list(dict.fromkeys(frame["judge"]))
    if len(judges) < FEWEST:
        return None
    right, truth, clusters = _ballots(frame, judges)
    if len(set(truth.tolist())) < 2:
        return None
    scores = {judge: (right[:, place] > 0).astype(float) for place, judge in enumerate(judges)}
    everyone = _majority(right)
    alone = {judge: _balanced(column, truth) for judge, column in scores.items()}
    best = max(judges, key=lambda judge: round(alone[judge], 12))
    single, joint = (
        [_gap(everyone, column, truth, clusters, times) for column in scores.values()] for times in (1, len(judges))
    )
    gain = min(single, key=lambda gap: gap.value or 0.0)
    if gain.ci95 is not None:  # that holds whichever member is truly the best
        low, high = (min(gap.ci95[end] for gap in gaps if gap.ci95) for end, gaps in ((0, single), (1, joint)))
        gain = replace(gain, ci95=(low, high))
    sums, members, worse = _error_sums(right, truth, clusters), [], dict[str, float]()
    for place, judge in enumerate(judges):
        pairs = np.zeros((len(judges), len(judges)), dtype=bool)
        pairs[place] = np.arange(len(judges)) != place
        correlation = float(_mean_correlation(sums.sum(axis=0)[None], pairs)[0])
        without = _gap(_majority(np.delete(right, place, axis=1)), everyone, truth, clusters)
        worse |= {judge: without.value or 0.0} if without.ahead > 0 else {}
        members.append({
            "judge": judge, "balanced_accuracy": alone[judge],
            "correlation": None if np.isnan(correlation) else correlation, "without": without,
        })  # fmt: skip
    return {
        "judges": len(judges), "votes": _effective_votes(sums, len(judges), len(truth) - int(sums[..., 0].sum())),
        "balanced_accuracy": _balanced(everyone, truth), "best": best, "gain": gain,
        "leave_out": max(worse, key=lambda judge: worse[judge]) if worse else None, "n": len(truth),
    }, members  # fmt: skip


def _gap(first: Any, second: Any, truth: Any, clusters: Any, times: int = 1) -> PairedDifference:
    """Return the balanced accuracy of the first scores (0..1, an entry a rubric) less that of the second.

    The interval is that of `linearised_difference`; `times` divides its level among so many comparisons (Bonferroni).
    """
    gaps = first - second
    moves = np.zeros(len(gaps))
    value = 0.0
    for side in (True, False):
        rows = truth == side
        mean = float(gaps[rows].mean())
        value += mean / 2
        moves[rows] = (gaps[rows] - mean) / rows.sum() / 2
    least = 0.5 / min(truth.sum(), (~truth).sum())  # one rubric, where none differs
    return linearised_difference(value, moves, clusters, times=times, least=float(least))


def _ballots(frame: DataFrame, judges: Sequence[str]) -> tuple[Any, Any, Any]:
    """(1 right, -1 wrong, 0 no vote, of items by judges; whether the gold label is yes; clusters) of the items of all."""
    import pandas as pd

    rows = frame[frame["gold"].isin(["yes", "no"])]
    once_each(rows)
    vote = np.where(rows["label"] == rows["gold"], 1, np.where(rows["label"].isin(["yes", "no"]), -1, 0))
    votes = rows.assign(vote=vote).pivot(index="item", columns="judge", values="vote")  # which sorts the items
    votes = votes.reindex(index=rows["item"].unique(), columns=judges).dropna()
    first = rows.drop_duplicates("item").set_index("item").loc[votes.index]
    return votes.to_numpy(), (first["gold"] == "yes").to_numpy(), pd.factorize(first["cluster"])[0]


def once_each(rows: DataFrame, by: Sequence[str] = ()) -> None:
    """Raise UserError where a judge has an item (of a group) twice."""
    twice = rows[rows.duplicated([*by, "judge", "item"])]
    if len(twice):
        row = twice.iloc[0]
        raise UserError(f"judge {row['judge']!r} has item {row['item']!r} twice: keep one row of it")


def _majority(right: Any) -> Any:
    """What the majority is worth on each item: 1 right, 0.5 a tie of votes, 0 wrong or nobody voting."""
    margin, cast = right.sum(axis=1), (right != 0).any(axis=1)
    return np.where(margin > 0, 1.0, np.where((margin == 0) & cast, 0.5, 0.0))


def _balanced(scores: Any, truth: Any) -> float:
    return float((scores[truth].mean() + scores[~truth].mean()) / 2)


def _error_sums(right: Any, truth: Any, clusters: Any) -> Any:
    """Items that all decided, errors and products of errors, by cluster and label: (clusters, 2, 1 + k + k * k)."""
    decided = (right != 0).all(axis=1)
    wrong = (right[decided] < 0).astype(float)
    products = (wrong[:, :, None] * wrong[:, None, :]).reshape(len(wrong), wrong.shape[1] ** 2)
    rows = np.hstack([np.ones((len(wrong), 1)), wrong, products])
    codes = np.unique(clusters[decided], return_inverse=True)[1]
    sums = np.zeros((codes.max(initial=-1) + 1, 2, rows.shape[1]))
    np.add.at(sums, (codes, truth[decided].astype(int)), rows)
    return sums


def _effective_votes(sums: Any, judges: int, left_out: int) -> Score:
    """The effective number of votes; None where fewer than two judges err.

    Its interval is that of the mean correlation: the spread of a bootstrap over clusters with a t quantile. Simulated
    with 12 to 100 clusters it covers the truth in 90 to 95 % of samples.
    """
    pairs = ~np.eye(judges, dtype=bool)
    n, correlation = int(sums[..., 0].sum()), float(_mean_correlation(sums.sum(axis=0)[None], pairs)[0])
    if np.isnan(correlation):
        return Score(None, n, left_out)
    if len(sums) < MIN_CLUSTERS:
        return Score(_votes(correlation, judges), n, left_out)
    flat = sums.reshape(len(sums), -1)
    drawn = [_mean_correlation((times @ flat).reshape(-1, *sums.shape[1:]), pairs) for times in draws(len(sums))]
    reach = float(_quantile(len(sums), CONFIDENCE) * np.nanstd(np.concatenate(drawn)))
    ends = _votes(correlation + reach, judges), _votes(correlation - reach, judges)
    return Score(_votes(correlation, judges), n, left_out, ends)


def _votes(correlation: float, judges: int) -> float:
    """k / (1 + (k - 1) r), at least 1 and at most k."""
    return judges / (1 + (judges - 1) * min(1.0, max(0.0, correlation)))


def _mean_correlation(sums: Any, pairs: Any) -> Any:
    """The mean correlation of errors within labels over pairs of judges, of every draw of sums (draws, 2, 1 + k + k * k).

    Pairs are weighted by the spread of both: a judge that never errs has none. NaN where nobody has any.
    """
    judges = len(pairs)
    counts, errors = np.maximum(sums[..., :1, None], 1), sums[..., 1 : judges + 1]
    products = sums[..., judges + 1 :].reshape(*sums.shape[:-1], judges, judges)
    covariances = (products - errors[..., :, None] * errors[..., None, :] / counts).sum(axis=1)
    spread = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0))
    weights = (spread[:, :, None] * spread[:, None, :])[:, pairs].sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(weights > 1e-9, covariances[:, pairs].sum(axis=1) / weights, np.nan)
