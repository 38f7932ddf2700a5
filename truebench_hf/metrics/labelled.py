"""A judge's error rates on labelled rows, and what all estimates from labelled rows share.

Criteria of one instance tend to pass or fail together, so variances are then taken between instances. None of the five
papers has this.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from truebench_hf.metrics.binary import Label, decide, parallel
from truebench_hf.metrics.intervals import wilson_at

Z95 = 1.959963984540054
# Where more of what people began is open, no estimate rests on the rest: what is settled is no random sample. A half
# answered instance is open until its first no, so that the settled ones are failures more often than all are.
MAX_OPEN = 0.05


@dataclass(frozen=True, slots=True)
class Estimate:
    """A pass rate (0..1) with its 95 % interval, or the reason in `withheld`, and then the other three are None.

    `effective_labels` is the size of a simple random sample of labels with the same variance: "as good as N labels".
    `bounds` stand where labels are open: the interval that holds whatever these would be.
    """

    estimate: float | None = None
    ci95: tuple[float, float] | None = None
    effective_labels: float | None = None
    withheld: str | None = None
    bounds: tuple[float, float] | None = None


def bounded(found: Estimate, failed: Estimate, passed: Estimate, why: str | None) -> Estimate:
    """The estimate over what is settled, with the interval widened to hold whatever the open ones are.

    `failed` and `passed` are the estimates with all open ones taken to fail, and to pass. With `why`, the reason why
    too many are open, only the bounds are left.
    """
    if failed.ci95 is None or passed.ci95 is None:
        return Estimate(withheld=why) if why else found
    bounds = failed.ci95[0], passed.ci95[1]
    if why or found.ci95 is None:
        return Estimate(withheld=why or found.withheld, bounds=bounds)
    bounds = min(bounds[0], found.ci95[0]), max(bounds[1], found.ci95[1])
    return replace(found, ci95=bounds, effective_labels=None, bounds=bounds)


def names_of(groups: Sequence[Hashable] | None, **columns: Sequence[Label]) -> Sequence[Hashable]:
    """What each row depends on: its group, or itself alone where there are no groups."""
    if groups is None:
        return range(parallel(**columns))
    parallel(**columns, groups=groups)
    return groups


def grouped_variance(parts: Iterable[tuple[Hashable, float]]) -> float:
    """Variance of a sum of parts, each given less its mean, that are independent between groups only (two or more)."""
    totals: defaultdict[Hashable, float] = defaultdict(float)
    for group, part in parts:
        totals[group] += part
    return len(totals) / (len(totals) - 1) * sum(total**2 for total in totals.values())


def kish(weights: Sequence[float]) -> float:
    """How many equally weighted rows tell as much as these (Kish 1965): sum squared over sum of squares; 0 for none."""
    return sum(weights) ** 2 / sum(weight**2 for weight in weights) if weights else 0.0


def effective_interval(share: float, n: float, clusters: float | None = None) -> tuple[float, float]:
    """The 95 % Wilson interval of a share that is as sure as one of `n` independent rows; `n` need not be whole.

    Where it rests on `clusters` of dependent rows, with the t quantile of one degree of freedom less.
    """
    if clusters is None:
        return wilson_at(share, n, Z95)
    from scipy.special import stdtrit  # slower to import than all other scoring

    return wilson_at(share, n, float(stdtrit(max(1.0, clusters - 1), 0.975)))


def clip(share: float) -> float:
    """The share, cut to 0..1."""
    return min(max(share, 0.0), 1.0)


# Below this a count is small: a share of 0 or 1 would claim to be free of error.
SMALL = 5


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """A judge's rates (0..1), None where no labelled row truly passes, or none truly fails.

    `sensitivity` and `specificity` are as used, pseudo-counts included, and `variances` theirs; `youden_j` is their sum
    less 1 (1 = all-knowing, 0 = guessing), `j_lower` the lower end of its 95 % interval. They rest on `n1` truly passing
    and `n0` truly failing rows; `unusable` rows have an undecided label or verdict.
    """

    sensitivity: float | None
    specificity: float | None
    youden_j: float | None
    j_lower: float | None
    variances: tuple[float, float] | None
    n0: int
    n1: int
    unusable: int


def error_rates(
    gold: Sequence[Label],
    predicted: Sequence[Label],
    *,
    weights: Sequence[float] | None = None,
    groups: Sequence[Hashable] | None = None,
) -> ErrorRates:
    """Sensitivity and specificity of verdicts held against labels, one row each.

    `weights` are those of a sample that was stratified by verdict: without them such a sample would tell other rates.
    `groups` names the instance of each row, where rows are criteria. Where one of the four counts is below 5, one row
    of mean weight is added to each. Raises `UserError` for columns of unequal length and labels other than yes and no.
    """
    names = names_of(groups, gold=gold, predicted=predicted)
    parallel(gold=gold, weights=weights if weights is not None else gold)
    columns = zip(names, map(decide, gold), map(decide, predicted), weights or [1.0] * len(gold), strict=True)
    rows = [(g, truth, said, w) for g, truth, said, w in columns if truth is not None and said is not None]
    n1 = sum(truth for _, truth, _, _ in rows)
    n0, unusable = len(rows) - n1, len(gold) - len(rows)
    if not n0 or not n1:
        return ErrorRates(None, None, None, None, None, n0, n1, unusable)
    counts = [sum((truth, said) == cell for _, truth, said, _ in rows) for cell in _CELLS]
    extra = sum(w for *_, w in rows) / len(rows) if min(counts) < SMALL else 0.0
    s, var_s = _rate([(g, said, w) for g, truth, said, w in rows if truth], extra)
    c, var_c = _rate([(g, not said, w) for g, truth, said, w in rows if not truth], extra)
    j = s + c - 1
    return ErrorRates(s, c, j, j - Z95 * math.sqrt(var_s + var_c), (var_s, var_c), n0, n1, unusable)


_CELLS = ((True, True), (True, False), (False, False), (False, True))


def _rate(rows: Sequence[tuple[Hashable, bool, float]], extra: float) -> tuple[float, float]:
    """A weighted share and its variance between groups, not below that of independent rows."""
    total = sum(w for *_, w in rows) + 2 * extra
    share = (sum(w for _, right, w in rows if right) + extra) / total
    apart = sum((w * (right - share)) ** 2 for _, right, w in rows) + extra**2 * ((1 - share) ** 2 + share**2)
    variance = apart / total**2
    if 1 < len({g for g, *_ in rows}) < len(rows):
        variance = max(variance, grouped_variance((g, w * (right - share) / total) for g, right, w in rows))
    return share, variance
