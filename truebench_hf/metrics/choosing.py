"""What a choice is worth on rows that had no say in it: of a judge's template, a threshold on scores, a cascade of judges.

FACTS chooses each judge's template by macro F1 on the rows it reports (paper 002, Table 2); the best of seven looks
better there than it is, so here the choice is measured on other rows, and held against the runner-up row by row.
TRUEBench compares scalar ratings with people's pass or fail by Cohen's kappa (paper 000, section 5.1) and does not say
from which rating on a response passes: here the threshold is chosen on one half, and measured on the other.
In a cascade a decision judge settles a row whose probability lies outside a band, a reasoning judge all others; none of
the papers has it. The best of some hundred bands looks better on the rows it was picked on than it is (at 200 rows by
two to three points): `chosen_labels` tells what the choice is worth elsewhere, by folds within folds.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

from truebench_hf.metrics.agreement import label_agreement, measure_difference
from truebench_hf.metrics.binary import Label, decide, mean_of, parallel
from truebench_hf.metrics.calibration import best_threshold, cross_fit, fit, out_of_fold
from truebench_hf.metrics.comparison import PairedDifference
from truebench_hf.metrics.kappa import cohen_kappa
from truebench_hf.types import Score


@dataclass(frozen=True)
class Choice:
    """The candidate with the highest macro F1, undecided rows counting as wrong, and the one behind it with the lead.

    `held_out` has for every row the label by whichever candidate was best without the row's group; None without two
    groups. `won` is in how many folds each candidate was best.
    """

    best: str
    runner_up: str | None
    lead: PairedDifference
    held_out: tuple[Label, ...]
    won: Mapping[str, int]


def choose(
    gold: Sequence[Label], candidates: Mapping[str, Sequence[Label]], groups: Sequence[Hashable],
    *, folds: int = 5, seed: int = 0,
) -> Choice | None:  # fmt: skip
    """Choose among columns of labels by macro F1 against `gold`; of equals the first. None without any candidate.

    Rows of one group (answers to one prompt) are never divided. Raises `UserError` for columns of unequal length.
    """
    if not candidates:
        return None
    won: Counter[str] = Counter()

    def rule(train: Sequence[int]) -> Callable[[int], Label]:
        some = {name: [column[row] for row in train] for name, column in candidates.items()}
        best = _ranked([gold[row] for row in train], some)[0]
        won[best] += 1
        return lambda row: candidates[best][row]

    first, *others = _ranked(gold, candidates)
    held_out = out_of_fold(groups, folds, seed, rule)
    lead = PairedDifference(None, None, len(gold), 0)
    if others:
        lead = measure_difference(gold, candidates[first], candidates[others[0]], groups)
    return Choice(first, others[0] if others else None, lead, tuple(held_out), dict(won))


def _ranked(gold: Sequence[Label], candidates: Mapping[str, Sequence[Label]]) -> list[str]:
    """The names, the highest macro F1 first; sorting keeps the order of equals."""
    only = ("macro_f1_strict",)
    values = {n: label_agreement(gold, column, measures=only)[only[0]].value or 0.0 for n, column in candidates.items()}
    return sorted(values, key=lambda name: -round(values[name], 12))


Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Direction:
    """Kappa on one half by the `threshold` (scores from there on pass) that was best on the other one.

    `chosen_at` is the kappa there. Without a threshold (None) `reason` says why, and there is no kappa.
    """

    threshold: float | None
    chosen_at: float | None
    kappa: Score
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Halved:
    """Both directions: measured on the first half, and on the second; the mean of the two kappas with its interval.

    The halves have no group in common, so that the interval joins those of both (MOVER, Zou and Donner 2008); None where
    one has none.
    """

    first: Direction
    second: Direction

    @property
    def mean(self) -> float | None:
        """The mean of both kappas."""
        return mean_of(self.first.kappa.value, self.second.kappa.value)

    @property
    def interval(self) -> Interval | None:
        """The interval of the mean."""
        (a, b), mean = (self.first.kappa, self.second.kappa), self.mean
        if mean is None or a.value is None or b.value is None or a.ci95 is None or b.ci95 is None:
            return None
        down, up = (hypot(a.value - a.ci95[side], b.value - b.ci95[side]) / 2 for side in (0, 1))
        return mean - down, mean + up


def first_half(groups: Collection[Hashable], seed: int = 0) -> frozenset[Hashable]:
    """Half of the groups (instances), drawn by `seed`; of an odd number the larger half. Their order does not matter."""
    unique = sorted(set(groups), key=lambda group: (str(group), repr(group)))
    return frozenset(random.Random(seed).sample(unique, (len(unique) + 1) // 2))


def halved_kappa(
    scores: Sequence[float | None], labels: Sequence[Label], groups: Sequence[Hashable], first: Collection[Hashable],
    *, seed: int = 0,
) -> Halved:  # fmt: skip
    """Cohen's kappa of scores against labels, by thresholds chosen on the half of the groups it is not measured on.

    `first` are the groups of the first half. None in a column is undecided: left out and counted. Raises `UserError` for
    columns of unequal length.
    """
    parallel(scores=scores, labels=labels, groups=groups)
    halves = [[row for row, group in enumerate(groups) if (group in first) == side] for side in (True, False)]

    def direction(on: Sequence[int], chosen_on: Sequence[int]) -> Direction:
        chosen = best_threshold([scores[row] for row in chosen_on], [labels[row] for row in chosen_on], "kappa")
        if chosen is None:
            why = "the half it is chosen on has not both passes and fails with a score"
            return Direction(None, None, Score(None, 0, len(on)), why)
        passed = by_threshold([scores[row] for row in on], chosen[0])
        kappa = cohen_kappa(passed, [labels[row] for row in on], [groups[row] for row in on], seed=seed)
        why = "the half it is measured on holds nothing to compare, or one label only"
        return Direction(*chosen, kappa, why if kappa.value is None else "")

    return Halved(direction(*halves), direction(*halves[::-1]))


def by_threshold(scores: Sequence[float | None], threshold: float) -> list[Label]:
    """ "yes" from the threshold on, else "no"; None stays None."""
    return [None if score is None else "yes" if score >= threshold else "no" for score in scores]


TOLERANCE = 0.01  # this close to the best (as a share) is good enough when the cheapest cascade is looked for
_STEPS = 20  # ends of bands on either side of the threshold: 400 bands and 99 thresholds fill a plot


@dataclass(frozen=True)
class Point:
    """One way to run the cascade: rows with `low` <= P(yes) <= `high` are handed on, of the rest those above are yes.

    With `low` None nothing is handed on, and `high` is the threshold; with both None the reasoning judge decides alone.
    `handed_on` (0..1) is the share of rows it gets. `calls` and `tokens` are what both judges spend on the data; tokens
    are None where a judge reports none. `balanced_accuracy` (0..1) counts undecided rows as wrong; None unless both
    labels occur.
    """

    low: float | None
    high: float | None
    handed_on: float
    calls: int
    tokens: float | None
    balanced_accuracy: float | None

    @property
    def cost(self) -> float:
        """Tokens, or calls where tokens are not known."""
        return self.calls if self.tokens is None else self.tokens

    def settle(self, p: float | None, second: Label) -> Label:
        """The label of a row with this (calibrated) probability, on which the reasoning judge would say `second`."""
        if self.high is None:
            return second
        if self.low is None:
            return None if p is None else "yes" if p >= self.high else "no"
        if p is None or self.low <= p <= self.high:
            return second
        return "yes" if p > self.high else "no"


@dataclass(frozen=True)
class First:
    """What the decision judge spent on all rows, whichever of them it settles; 0 tokens are taken as not reported."""

    calls: int
    tokens: float


@dataclass(frozen=True)
class Second:
    """The reasoning judge on the same rows: its label, and the call (one per response, or per row) it came from.

    `tokens` maps a call to the tokens it took. A call is paid for as soon as one of its rows is handed on.
    """

    labels: Sequence[Label]
    calls: Sequence[str]
    tokens: Mapping[str, float]


def curve(
    probabilities: Sequence[float | None], labels: Sequence[Label], first: First, second: Second, threshold: float
) -> tuple[Point, ...]:
    """Every threshold, every band around `threshold`, then the reasoning judge alone; parallel columns.

    Thresholds and the ends of the bands lie at quantiles of the probabilities and at `threshold`, the outermost ends at
    0 and 1; a band that hands nothing on is none. A row without a probability is always handed on, except at a
    threshold alone, where it stays undecided. Rows without a label are left out. Raises `UserError` for columns of
    unequal length and unknown labels.
    """
    import numpy as np

    parallel(probabilities=probabilities, labels=labels, second=second.labels, calls=second.calls)
    kept = [row for row, label in enumerate(labels) if decide(label) is not None]
    p = np.array([np.nan if probabilities[row] is None else probabilities[row] for row in kept], dtype=float)
    truth = np.array([decide(labels[row]) is True for row in kept], dtype=bool)
    other = np.array([{True: 1, False: 0, None: -1}[decide(second.labels[row])] for row in kept], dtype=int)
    known = p[~np.isnan(p)]
    if not len(known):
        return ()

    def point(low: float | None, high: float | None, handed: Any, alone: bool = False) -> Point:
        """What it costs, and how good it is, to hand on these rows, after the decision judge unless one is `alone`."""
        over = p >= high if low is None and high is not None else p > (high or 0.0)
        label = np.where(handed, other, np.where(np.isnan(p), -1, over.astype(int)))
        hit, rejected = label[truth] == 1, label[~truth] == 0
        balanced = float(hit.mean() + rejected.mean()) / 2 if len(hit) and len(rejected) else None
        paid = {second.calls[row] for row, on in zip(kept, handed, strict=True) if on}
        tokens = (0.0 if alone else first.tokens) + float(sum(second.tokens[call] for call in paid))
        told = first.tokens and sum(second.tokens.values())
        calls = (0 if alone else first.calls) + len(paid)
        return Point(low, high, float(handed.mean()), calls, tokens if told else None, balanced)

    cuts = np.unique([*np.quantile(known, np.linspace(0.01, 0.99, 99)), threshold])
    # What lies beyond all that was seen is as doubtful as the last that was: the outermost ends are 0 and 1. The widest
    # bands come first, so that of equally good ones the widest is taken.
    shares = np.linspace(0, 1, _STEPS)
    below, above = known[known <= threshold], known[known >= threshold]
    lows = sorted({0.0, threshold, *(np.quantile(below, shares[1:]).tolist() if len(below) else ())})
    highs = sorted({threshold, 1.0, *(np.quantile(above, shares[:-1]).tolist() if len(above) else ())}, reverse=True)
    ends = [(low, high) for low in lows for high in highs if low < high]
    bands = [point(low, high, np.isnan(p) | ((p >= low) & (p <= high))) for low, high in ends]
    nobody, everybody = np.zeros(len(p), dtype=bool), np.ones(len(p), dtype=bool)
    return (
        *(point(None, float(cut), nobody) for cut in cuts), *(band for band in bands if band.handed_on),
        point(None, None, everybody, alone=True),
    )  # fmt: skip


def frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points that no other beats: ever dearer, ever better."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, -(p.balanced_accuracy or 0), p.handed_on)):
        top = best[-1].balanced_accuracy if best else None
        if point.balanced_accuracy is not None and (top is None or point.balanced_accuracy > top + 1e-12):
            best.append(point)
    return tuple(best)


def cheapest(points: Sequence[Point], tolerance: float = TOLERANCE) -> Point | None:
    """The cheapest point whose balanced accuracy is within `tolerance` of the best; None without any."""
    edge = frontier(points)
    top = edge[-1].balanced_accuracy if edge else None
    return next((p for p in edge if top is not None and (p.balanced_accuracy or 0) >= top - tolerance), None)


def chosen_labels(
    kind: str, probabilities: Sequence[float | None], labels: Sequence[Label], groups: Sequence[Hashable],
    first: First, second: Second, *, folds: int = 5, seed: int = 0,
) -> list[Label]:  # fmt: skip
    """The label of every row by the cascade that is chosen without its group (the instruction); parallel columns.

    In each fold the whole choice is made on the other folds alone: calibrator, threshold and the cheapest good point
    on probabilities cross-fitted within them. A row comes back None where its judge leaves it open, and where the other
    folds hold one label only. Raises `UserError` for unequal columns or a bad kind.
    """
    parallel(probabilities=probabilities, labels=labels, groups=groups)

    def rule(train: Sequence[int]) -> Callable[[int], Label]:
        shares, gold = [probabilities[row] for row in train], [labels[row] for row in train]
        unseen, _ = cross_fit(kind, shares, gold, [groups[row] for row in train], folds=folds, seed=seed)
        calibrator, cut = fit(kind, shares, gold), best_threshold(unseen, gold)
        if calibrator is None or cut is None:
            return lambda row: None
        part = len(train) / len(probabilities)
        spent = First(round(part * first.calls), part * first.tokens)
        rest = Second([second.labels[row] for row in train], [second.calls[row] for row in train], second.tokens)
        point = cheapest(curve(unseen, gold, spent, rest, cut[0]))

        def settled(row: int) -> Label:
            share = probabilities[row]
            calibrated = None if share is None else calibrator.apply(share)
            return None if point is None else point.settle(calibrated, second.labels[row])

        return settled

    return out_of_fold(groups, folds, seed, rule)
