"""How sure a gate is: one-sided bounds of a paired change, who is blamed, and how many more instances would decide it.

A change is counted as a loss: above 0 the new run is worse. It is within its margin where its upper 95 % bound is, and
beyond it where its lower bound is, each one-sided. All changes have to be within (an intersection-union test, which needs
no correction); one is blamed by Holm's procedure, so that over all of them a run is blamed wrongly in at most 5 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf
from statistics import NormalDist
from typing import Any, Literal

from truebench_hf.metrics.comparison import MIN_PAIRS, ends, tally

Verdict = Literal["within", "worse", "unsure"]
ALPHA, POWER = 0.05, 0.8
_MOST = 100_000  # more instances than that nobody adds


@dataclass(frozen=True)
class Loss:
    """The loss of the new run over `n` pairs; `ends(alpha)` are its two one-sided bounds."""

    value: float
    n: int
    ends: Callable[[float], tuple[float, float]]

    def bounds(self, alpha: float) -> tuple[float, float] | None:
        """The two one-sided bounds; None below ten pairs."""
        return None if self.n < MIN_PAIRS else self.ends(alpha)


def score_loss(old: Any, new: Any) -> Loss:
    """The mean of old less new: arrays of scores (0 to 1) of the same instances, all known."""
    counted = tally(old, new)

    def bounds(alpha: float) -> tuple[float, float]:
        low, high = ends(counted, 1 - 2 * alpha)
        return float(low), float(high)

    return Loss(float((old - new).mean()) if len(old) else 0.0, len(old), bounds)


def ratio_loss(old: Any, new: Any) -> Loss:
    """The mean of new over the mean of old, less 1: arrays of amounts (lengths, costs) of the same instances, 0 or more.

    The bounds are those of the ratio of two paired means by the delta method, with a t quantile. Where every old amount is
    0, as of a free model or of empty answers, any more is a loss without bound.
    """
    import numpy as np
    from scipy.stats import t

    n = len(old)
    if not n:
        return Loss(0.0, 0, lambda alpha: (0.0, 0.0))
    if not old.any():
        sure = inf if new.any() else 0.0
        return Loss(sure, n, lambda alpha: (sure, sure))
    ratio = float(new.mean() / old.mean())
    error = float(np.std(new - ratio * old, ddof=1) / old.mean() / np.sqrt(n)) if n > 1 else inf

    def bounds(alpha: float) -> tuple[float, float]:
        reach = float(t.ppf(1 - alpha, n - 1)) * error
        return ratio - 1 - reach, ratio - 1 + reach

    return Loss(ratio - 1, n, bounds)


def verdicts(losses: Sequence[Loss], margins: Sequence[float]) -> list[Verdict]:
    """Whether each loss is within its margin, beyond it, or neither is shown."""

    def within(place: int) -> bool:
        bounds = losses[place].bounds(ALPHA)
        return bounds is not None and bounds[1] <= margins[place]

    def beyond(place: int, alpha: float) -> bool:
        bounds = losses[place].bounds(alpha)
        return bounds is not None and bounds[0] > margins[place]

    rest, worse = set(range(len(losses))), set[int]()
    while blamed := {place for place in rest if beyond(place, ALPHA / len(rest))}:
        worse |= blamed
        rest -= blamed
    return ["worse" if n in worse else "within" if within(n) else "unsure" for n in range(len(losses))]


def more_needed(loss: Loss, margin: float) -> int | None:
    """How many more instances would decide it in 4 of 5 runs, if the loss stays as it is; None: more than 100,000."""
    bounds = loss.bounds(ALPHA)
    if bounds is None:
        return max(1, MIN_PAIRS - loss.n)
    deviate = NormalDist().inv_cdf
    error = (bounds[1] - bounds[0]) / 2 / deviate(1 - ALPHA)
    distance = abs((bounds[0] + bounds[1]) / 2 - margin)
    needed = loss.n * ((deviate(1 - ALPHA) + deviate(POWER)) * error / distance) ** 2 if distance else inf
    return max(1, ceil(needed - loss.n)) if needed - loss.n <= _MOST else None
