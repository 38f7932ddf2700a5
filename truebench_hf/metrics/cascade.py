"""What a cascade costs and how good it is, for every threshold and every band, from verdicts that are there already.

None of the five papers has this. A decision judge settles a row whose probability lies outside the band, a reasoning
judge all others; at a threshold alone the reasoning judge is never asked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.metrics.binary import Label, decide, parallel

# This close to the best (as a share) counts as good enough when the cheapest band is looked for.
TOLERANCE = 0.01
_STEPS = 20  # ends of bands on either side of the threshold: 400 bands and 99 thresholds fill a plot


@dataclass(frozen=True)
class Point:
    """One way to run the cascade: rows with `low` <= P(yes) <= `high` are handed on, of the rest those above are yes.

    With `low` None nothing is handed on, and `high` is the threshold. `handed_on` (0..1) is the share of rows that are;
    `calls` and `tokens` are what the reasoning judge spends on the data. `balanced_accuracy` (0..1) counts undecided
    rows as wrong; None unless both labels occur.
    """

    low: float | None
    high: float
    handed_on: float
    calls: int
    tokens: float
    balanced_accuracy: float | None


@dataclass(frozen=True)
class Second:
    """The reasoning judge on the same rows: its label, and the call (one per response, or per row) it came from.

    `tokens` maps a call to the tokens it took. A call is paid for as soon as one of its rows is handed on.
    """

    labels: Sequence[Label]
    calls: Sequence[str]
    tokens: Mapping[str, float]


def curve(
    probabilities: Sequence[float | None], labels: Sequence[Label], second: Second, threshold: float
) -> tuple[Point, ...]:
    """Every threshold, then every band around `threshold`, with cost and balanced accuracy; parallel columns.

    The ends of the bands lie at quantiles of the probabilities. A row without a probability is always handed on, except
    at a threshold alone, where it stays undecided. Rows without a label are left out. Raises `UserError` for columns of
    unequal length and unknown labels.
    """
    import numpy as np

    parallel(probabilities=probabilities, labels=labels, second=second.labels, calls=second.calls)
    kept = [row for row, label in enumerate(labels) if decide(label) is not None]
    table = _Table(
        np.array([np.nan if (p := probabilities[row]) is None else p for row in kept], dtype=float),
        np.array([decide(labels[row]) is True for row in kept], dtype=bool),
        np.array([{True: 1, False: 0, None: -1}[decide(second.labels[row])] for row in kept], dtype=int),
        [second.calls[row] for row in kept],
        second.tokens,
    )
    known = table.p[~np.isnan(table.p)]
    if not len(known):
        return ()
    cuts = np.unique(np.quantile(known, np.linspace(0.01, 0.99, 99)))
    lows = _ends(known[known <= threshold], threshold)
    highs = _ends(known[known >= threshold], threshold)
    points = [table.at(None, float(cut)) for cut in cuts]
    return (*points, *(table.at(low, high) for low in lows for high in highs))


def frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """The points that no other beats: ever dearer (by tokens), ever better."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.tokens, -(p.balanced_accuracy or 0), p.handed_on)):
        top = best[-1].balanced_accuracy if best else None
        if point.balanced_accuracy is not None and (top is None or point.balanced_accuracy > top + 1e-12):
            best.append(point)
    return tuple(best)


def cheapest(points: Sequence[Point], tolerance: float = TOLERANCE) -> Point | None:
    """The cheapest point whose balanced accuracy is within `tolerance` of the best; None without any."""
    edge = frontier(points)
    top = edge[-1].balanced_accuracy if edge else None
    return next((p for p in edge if top is not None and (p.balanced_accuracy or 0) >= top - tolerance), None)


@dataclass(frozen=True)
class _Table:
    p: Any
    truth: Any
    second: Any
    calls: list[str]
    tokens: Mapping[str, float]

    def at(self, low: float | None, high: float) -> Point:
        """The point of one band, or of a threshold alone."""
        import numpy as np

        missing = np.isnan(self.p)
        handed = np.zeros(len(self.p), dtype=bool) if low is None else missing | ((self.p >= low) & (self.p <= high))
        # At a band, what lies above it is yes; at a threshold, what reaches it.
        first = np.where(missing, -1, (self.p >= high).astype(int))
        label = np.where(handed, self.second, first)
        hit, rejected = label[self.truth] == 1, label[~self.truth] == 0
        balanced = float(hit.mean() + rejected.mean()) / 2 if len(hit) and len(rejected) else None
        paid = {call for call, on in zip(self.calls, handed, strict=True) if on}
        spent = float(sum(self.tokens[call] for call in paid))
        return Point(low, high, float(handed.mean()), len(paid), spent, balanced)


def _ends(side: Any, threshold: float) -> list[float]:
    """Where bands may end on one side of the threshold, the threshold itself among them."""
    import numpy as np

    inside = np.quantile(side, np.linspace(0, 1, _STEPS)) if len(side) else []
    return sorted({float(end) for end in inside} | {threshold})
