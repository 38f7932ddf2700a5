"""What both estimates of a pass rate from labelled rows share: how many labels they need, and their intervals.

Criteria of one instance tend to pass or fail together, so variances are taken between instances.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

from truebench_hf.metrics.binary import Label, decide, parallel

Z95 = 1.959963984540054
MIN_LABELLED = 30
# Below this a count is small: a share of 0 or 1 would claim to be free of error.
SMALL = 5
ONE_INSTANCE = "all rows are of one instance, which tells nothing about others"


def names_of(groups: Sequence[Hashable] | None, **columns: Sequence[Label]) -> Sequence[Hashable]:
    """What each row depends on: its group, or itself alone where there are no groups."""
    if groups is None:
        return range(parallel(**columns))
    parallel(**columns, groups=groups)
    return groups


def share_variance(judged: Sequence[Label], names: Sequence[Hashable], share: float) -> float | None:
    """Variance of the judge's share, not below that of independent rows; None where all rows are of one group."""
    verdicts = zip(names, map(decide, judged), strict=True)
    parts = [(name, verdict - share) for name, verdict in verdicts if verdict is not None]
    independent, groups = share * (1 - share) / len(parts), len({name for name, _ in parts})
    if groups == len(parts) > 1:
        return independent
    return max(independent, grouped_variance(parts)) if groups > 1 else None


def grouped_variance(parts: Sequence[tuple[Hashable, float]]) -> float:
    """Variance of a mean whose rows, given less the mean, are independent between groups only."""
    totals: defaultdict[Hashable, float] = defaultdict(float)
    for group, part in parts:
        totals[group] += part
    return len(totals) / (len(totals) - 1) * sum(total**2 for total in totals.values()) / len(parts) ** 2


def clip(share: float) -> float:
    """The share, cut to 0..1."""
    return min(max(share, 0.0), 1.0)


def interval(centre: float, variance: float) -> tuple[float, float]:
    """The 95% interval of a share with this variance, cut to 0..1."""
    reach = Z95 * math.sqrt(variance)
    return clip(centre - reach), clip(centre + reach)
