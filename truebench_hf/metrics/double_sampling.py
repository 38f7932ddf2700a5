"""A pass rate from labels on a sample of the run itself, stratified by verdict and set right by the labels.

Double sampling (Tenenbein 1970): the run says how often each verdict is given, the labels what share of it is true.
It needs no model of the judge's errors. Criteria of one instance tend to pass or fail together: variances are then taken
between instances. None of the five papers has this.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from truebench_hf.metrics.binary import Label, decide, parallel
from truebench_hf.metrics.intervals import MIN_CLUSTERS, effective_interval

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


def bounded(settled: Estimate, failed: Estimate, passed: Estimate, why: str | None) -> Estimate:
    """The estimate over what is settled, with the interval widened to hold whatever the open ones are.

    `failed` and `passed` are the estimates with all open ones taken to fail, and to pass. With `why`, the reason why
    too many are open, only the bounds are left.
    """
    if failed.ci95 is None or passed.ci95 is None:
        return Estimate(withheld=why) if why else settled
    bounds = failed.ci95[0], passed.ci95[1]
    if why or settled.ci95 is None:
        return Estimate(withheld=why or settled.withheld, bounds=bounds)
    bounds = min(bounds[0], settled.ci95[0]), max(bounds[1], settled.ci95[1])
    return replace(settled, ci95=bounds, effective_labels=None, bounds=bounds)


# Labels at the overall rate that are added to each stratum where its variance is taken: a few labels that all agree
# do not prove a stratum pure. Checked by simulation (tests/metrics/test_coverage.py).
PSEUDO = 2.0


@dataclass(frozen=True, slots=True)
class Stratum:
    """The `n` units of a run with one verdict; of those `labelled`, the share that truly passes (None without any).

    `effective` is how many equally weighted labels these are.
    """

    name: str
    n: int
    labelled: int
    share: float | None
    effective: float

    @property
    def estimate(self) -> float:
        """The share as it enters the estimate."""
        return self.share or 0.0


@dataclass(frozen=True, slots=True)
class DoubleSampling:
    """The estimate, and what it rests on."""

    estimate: Estimate
    strata: tuple[Stratum, ...]
    labelled: int


def double_sampling(
    verdicts: Sequence[str], gold: Sequence[Label], *, weights: Sequence[float] | None = None,
    groups: Sequence[Hashable] | None = None, order: Sequence[str] = (),
) -> DoubleSampling:  # fmt: skip
    """The share of a run's units that truly pass, with its interval for runs like this one, not for these units alone.

    Parallel columns: `verdicts` names the stratum of every unit, `gold` its label (None: not labelled), `weights` how
    many units a labelled one stands for by the design of the sample (1 each if not given), `groups` the instance of each unit, where units are criteria. `order` names strata in the order to show.
    Within a stratum the labelled units must be a random sample, up to their weights. Withheld while a stratum has no
    label or fewer than 10 instances have one. Raises `UserError` for columns of unequal length and unknown labels.
    """
    columns = {"verdicts": verdicts, "gold": gold, "weights": weights, "groups": groups}
    parallel(**{name: column for name, column in columns.items() if column is not None})
    sizes = Counter(verdicts)
    names = [*(name for name in order if name in sizes), *sorted(sizes.keys() - set(order))]
    units = _units(list(map(names.index, verdicts)), gold, weights, groups)
    strata = [_stratum(units, code, name) for code, name in enumerate(names)]
    labelled = units.labelled()
    held = _sums(labelled.group, labelled.weight)
    bare = [f"none of the {s.n} with the verdict {s.name}" for s in strata if not s.labelled]
    withheld = spread = clusters = None
    if not strata:
        withheld = "the run has nothing that could be labelled"
    elif len(held) < MIN_CLUSTERS:
        withheld = f"{len(held)} labelled instances, {MIN_CLUSTERS} are needed"
    elif bare:
        withheld = f"{' and '.join(bare)} has a label; label at least one of them, better ten"
    elif groups is not None:
        spread, clusters = _between_groups(units, strata), kish(held)
    estimate = Estimate(withheld=withheld) if withheld else combined(strata, spread, clusters)
    return DoubleSampling(estimate, tuple(strata), len(labelled.truth))


def _stratum(units: _Units, code: int, name: str) -> Stratum:
    """Return what is known of the stratum with this code."""
    n, rows = int((units.stratum == code).sum()), units.labelled(code)
    if not len(rows.truth):
        return Stratum(name, n, 0, None, 0.0)
    return Stratum(name, n, len(rows.truth), float(rows.weight @ rows.truth / rows.weight.sum()), kish(rows.weight))


def combined(strata: Sequence[Stratum], spread: float | None = None, clusters: float | None = None) -> Estimate:
    """The estimate from strata that all have labels: the sum of their shares by size, with Wilson on the effective n.

    Its variance is that of the labels within strata, over their number, and that between strata, over the units of the
    run. `spread` is the variance between `clusters` (the effective number of instances), where it is larger.
    """
    n, smooth = sum(s.n for s in strata), _smooth(strata)
    total = clip(sum(weight * stratum.estimate for weight, stratum, _ in smooth))
    mean = sum(weight * share for weight, _, share in smooth)
    labelled = sum(w**2 * p * (1 - p) / s.effective for w, s, p in smooth)
    between = sum(w * (p - mean) ** 2 for w, _, p in smooth) / n
    effective = mean * (1 - mean) / max(labelled + between, spread or 0.0)
    return Estimate(total, effective_interval(total, effective, clusters and clusters - 1), effective)


# Of a rare stratum that many are labelled, or all there are. More would cost the others precision.
AT_LEAST = 5


def allocate(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """`n` labels over strata of these sizes, none beyond its size; with a larger `n` no stratum gets fewer.

    One after the other, each to the stratum that has fewest for its size (Webster's divisors), those with fewer than 5
    first. In proportion, since a stratified sample is then no worse than a simple one, however little verdicts tell.
    """
    labels = dict.fromkeys(sizes, 0)
    for _ in range(min(n, sum(sizes.values()))):
        open_ = [name for name, size in sizes.items() if labels[name] < size]
        labels[max(open_, key=lambda name: (labels[name] < AT_LEAST, sizes[name] / (2 * labels[name] + 1)))] += 1
    return labels


def kish(weights: Any) -> float:
    """How many equally weighted rows tell as much as these (Kish 1965): sum squared over sum of squares; 0 for none."""
    import numpy as np

    column = np.asarray(weights, dtype=float)
    return float(column.sum() ** 2 / (column @ column)) if len(column) else 0.0


def clip(share: float) -> float:
    """The share, cut to 0..1."""
    return min(max(share, 0.0), 1.0)


class _Units(NamedTuple):
    """Arrays, an entry a unit: the codes of stratum and instance, the label (NaN without one), and weight."""

    stratum: Any
    group: Any
    truth: Any
    weight: Any

    def labelled(self, stratum: int | None = None) -> _Units:
        """The units that have a label, of one stratum alone where one is named."""
        import numpy as np

        rows = ~np.isnan(self.truth) & (True if stratum is None else self.stratum == stratum)
        return _Units(*(column[rows] for column in self))


def _units(
    codes: Sequence[int], gold: Sequence[Label], weights: Sequence[float] | None, groups: Sequence[Hashable] | None
) -> _Units:
    """Return the columns as arrays: a weight is 1 where none is given, and each unit its own instance."""
    import numpy as np

    n, truth = len(codes), [np.nan if (yes := decide(label)) is None else yes for label in gold]
    instances = np.unique(np.asarray(range(n) if groups is None else groups), return_inverse=True)[1]
    return _Units(
        np.array(codes, dtype=int), instances, np.array(truth, dtype=float), np.array(weights or [1] * n, dtype=float)
    )


def _sums(codes: Any, values: Any) -> Any:
    """The sums of the values of each code that occurs."""
    import numpy as np

    return np.bincount(np.unique(codes, return_inverse=True)[1], values)


def _smooth(strata: Sequence[Stratum]) -> list[tuple[float, Stratum, float]]:
    """Each stratum that is not empty with its weight, and its share with a few labels at the overall rate added."""
    n, labels = sum(s.n for s in strata), sum(s.effective for s in strata)
    total = clip(sum(s.n * s.estimate for s in strata) / n)
    overall = (total * labels + 0.5) / (labels + 1)
    return [
        (s.n / n, s, (clip(s.estimate) * s.effective + PSEUDO * overall) / (s.effective + PSEUDO))
        for s in strata
        if s.n
    ]


def _between_groups(units: _Units, strata: Sequence[Stratum]) -> float:
    """The variance of the estimate: what each instance adds to it, as labelled and as judged, left out in turn.

    Few dissenting instances make the variance small by chance, so each stratum adds what is missing to one unit an
    instance, divided by 1 + the instances that dissent; strata rest on the same ones and may miss it all at once.
    """
    import numpy as np

    moves, unseen = np.zeros(units.group.max() + 1), 0.0
    for code, (weight, s, share) in enumerate(_smooth(strata)):  # none is empty
        rows = units.labelled(code)
        instances = np.unique(rows.group)
        gaps = rows.truth - s.estimate
        of_stratum = np.zeros(len(instances))  # how far each instance moves the mean, against the mean without it
        if len(instances) > 1:
            rest = rows.weight.sum() - _sums(rows.group, rows.weight)
            of_stratum = _sums(rows.group, rows.weight * gaps) / rest * math.sqrt(1 - 1 / len(instances))
        moves[instances] += weight * of_stratum
        dissent = min(len(np.unique(rows.group[rows.truth == side])) for side in (0, 1))
        missing = max(share * (1 - share) / len(instances) - float(of_stratum @ of_stratum), 0.0)
        unseen += weight * math.sqrt(missing / (1 + dissent))
    estimates = np.array([s.estimate for s in strata])
    n, total = len(units.stratum), sum(s.n * s.estimate for s in strata) / len(units.stratum)
    moves += np.bincount(units.group, estimates[units.stratum] - total) / (n - np.bincount(units.group))
    return float(moves @ moves) + unseen**2
