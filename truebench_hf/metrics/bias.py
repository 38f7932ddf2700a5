"""A pass rate corrected for the judge's error rates, as a sample of human labels shows them.

Rogan and Gladen (1978), as applied to LLM judges in arXiv 2511.21140 and 2605.06939; `prediction_powered.py` has the
estimate to set beside it. None of the five papers has this.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import Label, decide, decided_pairs, ratio
from truebench_hf.metrics.labelled import (
    MIN_LABELLED,
    ONE_INSTANCE,
    SMALL,
    Z95,
    clip,
    interval,
    names_of,
    share_variance,
)

MIN_YOUDEN_J = 0.3
# The whole interval lies beyond 0 or 1: so many rows as were judged to pass cannot come from a judge with such rates.
CONTRADICTION = (
    "run and labels contradict each other: with these error rates no pass rate explains the judge's verdicts"
)


@dataclass(frozen=True)
class BiasCorrected:
    """Pass rate (0..1) with its 95% interval, or the reason in `withheld`, and then both are None.

    `observed` is the judge's own share of yes over its `n` decided rows. `sensitivity` and `specificity` are as used,
    pseudo-counts included; `youden_j` is their sum less 1 (1 = all-knowing, 0 = guessing), `j_lower` the lower end of
    its 95% interval. They rest on `n1` truly passing and `n0` truly failing labelled rows. `undecided` rows of the run
    and `unusable` labelled rows (label or verdict undecided) enter nothing: the estimate is about decided rows.
    """

    estimate: float | None
    ci95: tuple[float, float] | None
    observed: float | None
    sensitivity: float | None
    specificity: float | None
    youden_j: float | None
    j_lower: float | None
    n: int
    undecided: int
    n0: int
    n1: int
    unusable: int
    withheld: str | None


@dataclass(frozen=True)
class _Rates:
    """Sensitivity and specificity with their variances."""

    s: float
    c: float
    var_s: float
    var_c: float

    @property
    def j(self) -> float:
        return self.s + self.c - 1

    @property
    def j_lower(self) -> float:
        return self.j - Z95 * math.sqrt(self.var_s + self.var_c)


def bias_corrected(
    judged: Sequence[Label],
    gold: Sequence[Label],
    predicted: Sequence[Label],
    *,
    groups: Sequence[Hashable] | None = None,
    labels_from_run: bool = True,
) -> BiasCorrected:
    """The Rogan-Gladen estimate (p + c - 1) / (s + c - 1), its interval by the delta method, both cut to 0..1.

    `judged` are the judge's verdicts on the whole run, `gold` and `predicted` label and verdict of the labelled rows.
    `groups` names the instance of each judged row; criteria of one instance then count as dependent. Where one of the
    four counts behind s and c is below 5, one success and one failure are added to both. Withheld when the labels are
    not from this run, fewer than 30 labelled rows truly pass or fail, the lower bound of J is below 0.3, or the whole
    interval lies beyond 0 or 1. Raises `UserError` for columns of unequal length and labels other than yes and no.
    """
    names = names_of(groups, judged=judged)
    run = [verdict for label in judged if (verdict := decide(label)) is not None]
    pairs = decided_pairs(gold, predicted)
    n1 = sum(truth for truth, _ in pairs)
    n0 = len(pairs) - n1
    share, rates = ratio(sum(run), len(run)), _rates(pairs)
    spread = None if share is None else share_variance(judged, names, share)
    withheld = _why_withheld(n0, n1, rates, labels_from_run) or _why_no_share(share, spread)
    found = None if withheld or share is None or spread is None or rates is None else _corrected(share, spread, rates)
    if found is not None and found[1][0] == found[1][1]:
        found, withheld = None, CONTRADICTION
    return BiasCorrected(
        estimate=found[0] if found else None,
        ci95=found[1] if found else None,
        observed=share,
        sensitivity=rates.s if rates else None,
        specificity=rates.c if rates else None,
        youden_j=rates.j if rates else None,
        j_lower=rates.j_lower if rates else None,
        n=len(run),
        undecided=len(judged) - len(run),
        n0=n0,
        n1=n1,
        unusable=len(gold) - len(pairs),
        withheld=withheld,
    )


def _corrected(share: float, spread: float, rates: _Rates) -> tuple[float, tuple[float, float]]:
    """The estimate from the judge's share and its variance, with its interval."""
    raw = (share + rates.c - 1) / rates.j
    estimate = clip(raw)
    variance = spread + (1 - estimate) ** 2 * rates.var_c + estimate**2 * rates.var_s
    return estimate, interval(raw, variance / rates.j**2)


def _rates(pairs: Sequence[tuple[bool, bool]]) -> _Rates | None:
    """None where no labelled row truly passes, or none truly fails: then one of the rates is unknown."""
    cells = [pairs.count(cell) for cell in ((True, True), (True, False), (False, False), (False, True))]
    extra = 1 if min(cells) < SMALL else 0
    hits, misses, rejections, alarms = (count + extra for count in cells)
    if not cells[0] + cells[1] or not cells[2] + cells[3]:
        return None
    n1, n0 = hits + misses, rejections + alarms
    s, c = hits / n1, rejections / n0
    return _Rates(s, c, var_s=s * (1 - s) / n1, var_c=c * (1 - c) / n0)


def _why_withheld(n0: int, n1: int, rates: _Rates | None, labels_from_run: bool) -> str | None:
    if not labels_from_run:
        return "the labels are about other models' answers, on which the judge may err differently"
    if rates is None or min(n0, n1) < MIN_LABELLED:
        return f"{n1} labelled rows truly pass and {n0} truly fail, {MIN_LABELLED} of each are needed"
    if rates.j_lower < MIN_YOUDEN_J:
        return f"Youden's J is {rates.j:.2f} with lower bound {rates.j_lower:.2f}, {MIN_YOUDEN_J} is needed"
    return None


def _why_no_share(share: float | None, spread: float | None) -> str | None:
    if share is None:
        return "no row of the run is decided"
    return ONE_INSTANCE if spread is None else None
