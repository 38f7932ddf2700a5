"""What a cascade costs and how good it is, for every threshold and every band, from verdicts that are there already.

None of the five papers has this. A decision judge settles a row whose probability lies outside the band, a reasoning
judge all others. At a threshold alone the reasoning judge is never asked; a reasoning judge alone needs no other.
The best of some hundred bands looks better on the rows it was picked on than it is (at 200 rows by two to three points):
`chosen_labels` tells what the choice is worth on rows it was not made on, by folds within folds.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from truebench_hf.metrics.binary import Label, decide, parallel
from truebench_hf.metrics.calibration import best_threshold, cross_fit, held_out

# This close to the best (as a share) counts as good enough when the cheapest band is looked for.
TOLERANCE = 0.01
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
    parallel(probabilities=probabilities, labels=labels, second=second.labels, calls=second.calls)
    kept = [row for row, label in enumerate(labels) if decide(label) is not None]
    table = _Table(
        np.array([np.nan if (p := probabilities[row]) is None else p for row in kept], dtype=float),
        np.array([decide(labels[row]) is True for row in kept], dtype=bool),
        np.array([{True: 1, False: 0, None: -1}[decide(second.labels[row])] for row in kept], dtype=int),
        [second.calls[row] for row in kept],
        first,
        second.tokens if first.tokens and sum(second.tokens.values()) else None,
    )
    known = table.p[~np.isnan(table.p)]
    if not len(known):
        return ()
    cuts = np.unique([*np.quantile(known, np.linspace(0.01, 0.99, 99)), threshold])
    # What lies beyond all that was seen is as doubtful as the last that was: the outermost ends are 0 and 1. The widest
    # bands come first, so that of equally good ones the widest is taken.
    shares = np.linspace(0, 1, _STEPS)
    below, above = known[known <= threshold], known[known >= threshold]
    lows = sorted({0.0, threshold, *(np.quantile(below, shares[1:]).tolist() if len(below) else ())})
    highs = sorted({threshold, 1.0, *(np.quantile(above, shares[:-1]).tolist() if len(above) else ())}, reverse=True)
    bands = [table.band(low, high) for low in lows for high in highs if low < high]
    alone = table.point(None, None, np.ones(len(table.p), dtype=bool), First(0, 0.0))  # the reasoning judge
    return (*map(table.threshold, map(float, cuts)), *(point for point in bands if point.handed_on), alone)


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
    kind: str,
    probabilities: Sequence[float | None],
    labels: Sequence[Label],
    groups: Sequence[Hashable],
    first: First,
    second: Second,
    *,
    folds: int = 5,
    seed: int = 0,
) -> tuple[Label, ...]:
    """The label of every row by the cascade that is chosen without its group (the instruction); parallel columns.

    In each fold the whole choice is made on the other folds alone: calibrator, threshold and the cheapest good point
    (`cascade.cheapest`) on probabilities cross-fitted within them. A row comes back None where its judge leaves it
    open, and where the other folds hold one label only. Raises `UserError` for unequal columns or a bad kind.
    """

    def choice(rows: Sequence[int]) -> Point | None:
        """The point that would be chosen if there were these rows only."""
        p, gold = [probabilities[row] for row in rows], [labels[row] for row in rows]
        fair = cross_fit(kind, p, gold, [groups[row] for row in rows], folds=folds, seed=seed)
        best = best_threshold(fair, gold)
        if best is None:
            return None
        share = len(rows) / len(probabilities)
        spent = First(round(share * first.calls), share * first.tokens)
        rest = Second([second.labels[row] for row in rows], [second.calls[row] for row in rows], second.tokens)
        return cheapest(curve(fair, gold, spent, rest, best.value))

    out: list[Label] = [None] * len(probabilities)
    for calibrator, train, test in held_out(kind, probabilities, labels, groups, folds, seed):
        point = choice(train)
        if calibrator is None or point is None:
            continue
        for row in test:
            p = probabilities[row]
            out[row] = point.settle(None if p is None else calibrator.apply(p), second.labels[row])
    return tuple(out)


@dataclass(frozen=True)
class _Table:
    p: Any
    truth: Any
    second: Any
    calls: list[str]
    spent: First
    tokens: Mapping[str, float] | None

    def threshold(self, cut: float) -> Point:
        """The decision judge alone."""
        return self.point(None, cut, np.zeros(len(self.p), dtype=bool), self.spent)

    def band(self, low: float, high: float) -> Point:
        """A cascade."""
        return self.point(low, high, np.isnan(self.p) | ((self.p >= low) & (self.p <= high)), self.spent)

    def point(self, low: float | None, high: float | None, handed: Any, first: First) -> Point:
        """What it costs, and how good it is, to hand on these rows after `first` was spent."""
        over = self.p >= high if low is None and high is not None else self.p > (high or 0.0)
        label = np.where(handed, self.second, np.where(np.isnan(self.p), -1, over.astype(int)))
        hit, rejected = label[self.truth] == 1, label[~self.truth] == 0
        balanced = float(hit.mean() + rejected.mean()) / 2 if len(hit) and len(rejected) else None
        paid = {call for call, on in zip(self.calls, handed, strict=True) if on}
        tokens = None if self.tokens is None else first.tokens + float(sum(self.tokens[call] for call in paid))
        return Point(low, high, float(handed.mean()), first.calls + len(paid), tokens, balanced)
