"""Do a judge's probabilities mean what they say: Brier score, expected calibration error, reliability bins, threshold.

None of the five papers has this; the calibration error is that of Guo et al. (2017) for the probability of yes.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.metrics.binary import Label, decide, parallel, ratio


@dataclass(frozen=True)
class Bin:
    """`count` rows whose probability lies in (lower, upper], the first bin including 0.

    `mean_probability` is what the judge said and `share_yes` what came true (0..1); both None in an empty bin.
    """

    lower: float
    upper: float
    count: int
    mean_probability: float | None
    share_yes: float | None


@dataclass(frozen=True)
class Calibration:
    """`brier` (mean squared error, 0..1) and `ece` (mean distance of a bin's two shares, weighted by count, 0..1).

    Both are None without usable rows. `n` rows have a probability and a label, `left_out` lack one.
    """

    n: int
    left_out: int
    brier: float | None
    ece: float | None
    bins: tuple[Bin, ...]


@dataclass(frozen=True)
class Threshold:
    """Say yes from probability `value` on; `balanced_accuracy` (0..1) is what that gives on the `n` rows seen."""

    value: float
    balanced_accuracy: float
    n: int


def usable(probabilities: Sequence[float | None], labels: Sequence[Label]) -> list[tuple[float, bool]]:
    """The (probability of yes, is yes) rows that have both. Raises `UserError` for a probability outside 0..1."""
    parallel(probabilities=probabilities, labels=labels)
    for row, probability in enumerate(probabilities):
        if probability is not None and not 0 <= probability <= 1:
            raise UserError(f"probability {probability!r} in row {row} is outside 0..1")
    pairs = ((probability, decide(label)) for probability, label in zip(probabilities, labels, strict=True))
    return [(probability, label) for probability, label in pairs if probability is not None and label is not None]


def calibration(probabilities: Sequence[float | None], labels: Sequence[Label], *, n_bins: int = 10) -> Calibration:
    """Measure probabilities of yes (0..1) against "yes"/"no" labels, in `n_bins` bins of equal width.

    None is a missing probability or an undecided label. Raises `UserError` for columns of unequal length, other
    labels, and probabilities outside 0..1.
    """
    need("stats", "sklearn", what="calibration")
    from sklearn.metrics import brier_score_loss

    rows = usable(probabilities, labels)
    bins = reliability_bins(rows, n_bins)
    brier = None
    if rows:
        brier = float(brier_score_loss([label for _, label in rows], [value for value, _ in rows], pos_label=True))
    gaps = [
        entry.count * abs(entry.mean_probability - entry.share_yes)
        for entry in bins
        if entry.mean_probability is not None and entry.share_yes is not None
    ]
    return Calibration(len(rows), len(probabilities) - len(rows), brier, ratio(sum(gaps), len(rows)), bins)


def reliability_bins(rows: Sequence[tuple[float, bool]], n_bins: int = 10) -> tuple[Bin, ...]:
    """Sort (probability, is yes) rows into `n_bins` bins of equal width, empty ones included."""
    import numpy as np

    edges = np.linspace(0, 1, n_bins + 1)
    members: list[list[tuple[float, bool]]] = [[] for _ in range(n_bins)]
    for row, place in zip(rows, np.searchsorted(edges[1:-1], [value for value, _ in rows]), strict=True):
        members[place].append(row)
    return tuple(
        Bin(
            float(lower),
            float(upper),
            len(inside),
            ratio(sum(value for value, _ in inside), len(inside)),
            ratio(sum(label for _, label in inside), len(inside)),
        )
        for lower, upper, inside in zip(edges[:-1], edges[1:], members, strict=True)
    )


def best_threshold(probabilities: Sequence[float | None], labels: Sequence[Label]) -> Threshold | None:
    """The threshold with the highest balanced accuracy; None unless both labels occur.

    It lies halfway between two neighbouring probabilities; of several equally good ones the nearest to 0.5 is taken.
    Fit it on cross-fitted probabilities: on the rows a calibrator was fitted on it is too good.
    """
    need("stats", "sklearn", what="a best threshold")
    from sklearn.metrics import roc_curve

    rows = usable(probabilities, labels)
    if len({label for _, label in rows}) < 2:
        return None
    fpr, tpr, values = roc_curve([y for _, y in rows], [value for value, _ in rows], drop_intermediate=False)
    # The first point of the curve says no to everything; the last value says yes to everything.
    cuts = [_between(float(low), float(high)) for high, low in itertools.pairwise(values[1:])]
    scored = [
        (float(hit + 1 - alarm) / 2, cut)
        for hit, alarm, cut in zip(tpr[1:], fpr[1:], [*cuts, float(values[-1])], strict=True)
    ]
    top = max(score for score, _ in scored)
    value = min((cut for score, cut in scored if score >= top - 1e-12), key=lambda cut: abs(cut - 0.5))
    return Threshold(value, top, len(rows))


def _between(low: float, high: float) -> float:
    middle = (low + high) / 2
    return middle if low < middle else high
