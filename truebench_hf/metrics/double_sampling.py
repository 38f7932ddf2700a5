"""A pass rate from labels on a sample of the run itself, stratified by verdict and set right by the labels; and the error
rates of a judge on labelled rows.

Double sampling (Tenenbein 1970): the run says how often each verdict is given, the labels what share of it is true.
It needs no model of the judge's errors. With scores of the judge (probabilities, shares of votes) the labels within a
verdict are also compared with these, weighted by a tuned lambda: prediction-powered inference (PPI++, arXiv 2311.01453;
by strata arXiv 2406.04291). Criteria of one instance tend to pass or fail together: variances are then taken between
instances. None of the five papers has this.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, NamedTuple

from truebench_hf.metrics.binary import Label, decide, parallel, ratio
from truebench_hf.metrics.intervals import CONFIDENCE, MIN_CLUSTERS, clustered_share, effective_interval

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
# do not prove a stratum pure. Checked by simulation (tests/metrics/test_double_sampling.py).
PSEUDO = 2.0


@dataclass(frozen=True, slots=True)
class Stratum:
    """The `n` units of a run with one verdict; of those `labelled`, the share that truly passes (None without any).

    `effective` is how many equally weighted labels these are. `gain` is what the judge's scores add to the share: those
    of all units of the stratum less those of the labelled ones, times lambda.
    """

    name: str
    n: int
    labelled: int
    share: float | None
    effective: float
    gain: float = 0.0

    @property
    def estimate(self) -> float:
        """The share as it enters the estimate; with a gain it may lie somewhat beyond 0 or 1."""
        return (self.share or 0.0) + self.gain


@dataclass(frozen=True, slots=True)
class DoubleSampling:
    """The estimate, what the labels alone would say, and what both rest on. `lambda_` is None without scores."""

    estimate: Estimate
    labels_alone: Estimate
    strata: tuple[Stratum, ...]
    lambda_: float | None
    labelled: int


def double_sampling(
    verdicts: Sequence[str], gold: Sequence[Label], *, weights: Sequence[float] | None = None,
    scores: Sequence[float] | None = None, groups: Sequence[Hashable] | None = None, order: Sequence[str] = (),
) -> DoubleSampling:  # fmt: skip
    """The share of a run's units that truly pass, with its interval for runs like this one, not for these units alone.

    Parallel columns: `verdicts` names the stratum of every unit, `gold` its label (None: not labelled), `weights` how
    many units a labelled one stands for by the design of the sample (1 each if not given), `scores` the judge's own
    P(yes), `groups` the instance of each unit, where units are criteria. `order` names strata in the order to show.
    Within a stratum the labelled units must be a random sample, up to their weights. Withheld while a stratum has no
    label or fewer than 10 instances have one. Raises `UserError` for columns of unequal length and unknown labels.
    """
    columns = {"verdicts": verdicts, "gold": gold, "weights": weights, "scores": scores, "groups": groups}
    parallel(**{name: column for name, column in columns.items() if column is not None})
    sizes = Counter(verdicts)
    names = [*(name for name in order if name in sizes), *sorted(sizes.keys() - set(order))]
    units = _units(list(map(names.index, verdicts)), gold, weights, scores, groups)
    lambda_, explained = _tuned(units, len(names)) if scores else (0.0, 0.0)
    strata = [_stratum(units, code, name, lambda_) for code, name in enumerate(names)]
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
        spread, clusters = _between_groups(units, strata, lambda_), kish(held)
    estimate = Estimate(withheld=withheld) if withheld else combined(strata, explained, spread, clusters)
    alone = _alone(labelled, held, groups is not None)
    return DoubleSampling(estimate, alone, tuple(strata), lambda_ if scores else None, len(labelled.truth))


def _stratum(units: _Units, code: int, name: str, lambda_: float) -> Stratum:
    """Return what is known of the stratum with this code."""
    own, rows = units.score[units.stratum == code], units.labelled(code)
    if not len(rows.truth):
        return Stratum(name, len(own), 0, None, 0.0)
    share, scored = (float(rows.weight @ column / rows.weight.sum()) for column in (rows.truth, rows.score))
    return Stratum(name, len(own), len(rows.truth), share, kish(rows.weight), lambda_ * (float(own.mean()) - scored))


def combined(
    strata: Sequence[Stratum], explained: float = 0.0, spread: float | None = None, clusters: float | None = None
) -> Estimate:
    """The estimate from strata that all have labels: the sum of their shares by size, with Wilson on the effective n.

    Its variance is that of the labels within strata, over their number, and that between strata, over the units of the
    run. `explained` (0..1) is the part of the first that the judge's scores take away: it, too, is over the units of
    the run. `spread` is the variance between `clusters` (the effective number of instances), where it is larger.
    """
    n, smooth = sum(s.n for s in strata), _smooth(strata)
    total = clip(sum(weight * stratum.estimate for weight, stratum, _ in smooth))
    mean = sum(weight * share for weight, _, share in smooth)
    labelled = sum(w**2 * p * (1 - p) / s.effective for w, s, p in smooth)
    unlabelled = sum(w**2 * p * (1 - p) / s.n for w, s, p in smooth)
    between = sum(w * (p - mean) ** 2 for w, _, p in smooth) / n
    variance = (1 - explained) * labelled + explained * unlabelled + between
    effective = mean * (1 - mean) / max(variance, spread or 0.0)
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
    gold: Sequence[Label], predicted: Sequence[Label], *, weights: Sequence[float] | None = None,
    groups: Sequence[Hashable] | None = None,
) -> ErrorRates:  # fmt: skip
    """Sensitivity and specificity of verdicts held against labels, one row each.

    `weights` are those of a sample that was stratified by verdict: without them such a sample would tell other rates.
    `groups` names the instance of each row, where rows are criteria. Where one of the four counts is below 5, one row
    of mean weight is added to each. Raises `UserError` for columns of unequal length and labels other than yes and no.
    """
    import numpy as np

    columns = {"gold": gold, "predicted": predicted, "weights": weights, "groups": groups}
    parallel(**{name: column for name, column in columns.items() if column is not None})
    verdict = np.array([np.nan if (yes := decide(label)) is None else yes for label in predicted], dtype=float)
    units = _units([0] * len(gold), gold, weights, None, groups)
    known = ~np.isnan(units.truth + verdict)
    truth, verdict, group, weight = (column[known] for column in (units.truth, verdict, units.group, units.weight))
    yes, right = truth == 1, truth == verdict
    n1, n0, unusable = int(yes.sum()), int((~yes).sum()), int((~known).sum())
    if not n0 or not n1:
        return ErrorRates(None, None, None, None, None, n0, n1, unusable)
    fewest = min((yes & right).sum(), (yes & ~right).sum(), (~yes & right).sum(), (~yes & ~right).sum())
    extra = float(weight.mean()) if fewest < SMALL else 0.0
    rates, variances = [], []
    for side in (yes, ~yes):
        total_weight = float(weight[side].sum()) + 2 * extra
        rate = (float(weight[side] @ right[side]) + extra) / total_weight
        apart = weight[side] * (right[side] - rate)
        variance = (float(apart @ apart) + extra**2 * ((1 - rate) ** 2 + rate**2)) / total_weight**2
        between = _sums(group[side], apart / total_weight)
        if 1 < len(between) < len(apart):  # not below that of independent rows
            variance = max(variance, len(between) / (len(between) - 1) * float(between @ between))
        rates.append(rate)
        variances.append(variance)
    j = sum(rates) - 1
    lower = j - NormalDist().inv_cdf((1 + CONFIDENCE) / 2) * math.sqrt(sum(variances))
    return ErrorRates(rates[0], rates[1], j, lower, (variances[0], variances[1]), n0, n1, unusable)


class _Units(NamedTuple):
    """Arrays, an entry a unit: the codes of stratum and instance, the label (NaN without one), weight and score (0..1)."""

    stratum: Any
    group: Any
    truth: Any
    weight: Any
    score: Any

    def labelled(self, stratum: int | None = None) -> _Units:
        """The units that have a label, of one stratum alone where one is named."""
        import numpy as np

        rows = ~np.isnan(self.truth) & (True if stratum is None else self.stratum == stratum)
        return _Units(*(column[rows] for column in self))


def _units(
    codes: Sequence[int], gold: Sequence[Label], weights: Sequence[float] | None, scores: Sequence[float] | None,
    groups: Sequence[Hashable] | None,
) -> _Units:  # fmt: skip
    """Return the columns as arrays: a weight is 1 where none is given, a score 0, and each unit its own instance."""
    import numpy as np

    n, truth = len(codes), [np.nan if (yes := decide(label)) is None else yes for label in gold]
    instances = np.unique(np.asarray(range(n) if groups is None else groups), return_inverse=True)[1]
    columns = (
        np.array(column or [usual] * n, dtype=float) for column, usual in ((truth, 0), (weights, 1), (scores, 0))
    )
    return _Units(np.array(codes, dtype=int), instances, *columns)


def _sums(codes: Any, values: Any) -> Any:
    """The sums of the values of each code that occurs."""
    import numpy as np

    return np.bincount(np.unique(codes, return_inverse=True)[1], values)


def _tuned(units: _Units, strata: int) -> tuple[float, float]:
    """(the lambda that leaves the least variance in the estimate, the part of the labels' variance that it takes away, 0..1).

    Each stratum counts by the square of its size over its labels, as it does in the variance of the estimate. What one
    lambda explains by chance is taken off, as in an adjusted R squared.
    """
    import numpy as np

    rows = units.labelled()
    count, size = (np.bincount(codes, minlength=strata) for codes in (rows.stratum, units.stratum))
    freedom = int(np.maximum(count - 1, 0).sum()) - 1
    importance = np.where(count > 1, size**2 / np.maximum(count * (count - 1), 1), 0)[rows.stratum]
    label, score = (
        column - (np.bincount(rows.stratum, column, strata) / np.maximum(count, 1))[rows.stratum]
        for column in (rows.truth, rows.score)
    )
    both, of_scores, of_labels = (
        float(importance @ products) for products in (label * score, score * score, label * label)
    )
    if both <= 0 or freedom < 1:
        return 0.0, 0.0
    left = (1 - (ratio(both**2, of_scores * of_labels) or 0.0)) * (freedom + 1) / freedom
    return both / of_scores, max(0.0, 1 - left)


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


def _between_groups(units: _Units, strata: Sequence[Stratum], lambda_: float) -> float:
    """The variance of the estimate: what each instance adds to it, as labelled and as judged, left out in turn.

    Few dissenting instances make the variance small by chance, so each stratum adds what is missing to one unit an
    instance, divided by 1 + the instances that dissent; strata rest on the same ones and may miss it all at once.
    """
    import numpy as np

    moves, unseen = np.zeros(units.group.max() + 1), 0.0
    means = np.bincount(units.stratum, units.score) / np.bincount(units.stratum)
    for code, (weight, s, share) in enumerate(_smooth(strata)):  # none is empty
        rows = units.labelled(code)
        instances = np.unique(rows.group)
        gaps = rows.truth - lambda_ * rows.score - (s.estimate - lambda_ * means[code])
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
    gaps = estimates[units.stratum] - total + lambda_ * (units.score - means[units.stratum])
    moves += np.bincount(units.group, gaps) / (n - np.bincount(units.group))
    return float(moves @ moves) + unseen**2


def _alone(rows: _Units, held: Any, grouped: bool) -> Estimate:
    """The labels without the judge: their weighted share, and what it is worth where rows are independent.

    `held` is how many units the labelled ones of each instance stand for.
    """
    if not len(held) or (grouped and len(held) < MIN_CLUSTERS):
        return Estimate(withheld=f"{len(held)} labelled instances, {MIN_CLUSTERS} are needed")
    share = clip(float(rows.weight @ rows.truth / held.sum()))
    if not grouped:
        effective = kish(rows.weight)
        return Estimate(share, effective_interval(share, effective), effective)
    ends = clustered_share(_sums(rows.group, rows.weight * rows.truth), held)
    return Estimate(share, ends) if ends else Estimate(withheld="the labelled instances are too unequal in size")
