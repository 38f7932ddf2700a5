"""A pass rate from labels on a sample of the run itself: stratified by verdict, and set right by the labels.

Double sampling (Tenenbein 1970): the run says how often each verdict is given, the labels what share of it is true.
It needs no model of the judge's errors. With scores of the judge (probabilities, shares of votes) the labels within a
verdict are also compared with these, weighted by a tuned lambda: prediction-powered inference (PPI++, arXiv 2311.01453;
by strata arXiv 2406.04291). Criteria of one instance tend to pass or fail together: variances are then taken between
instances. None of the five papers has this.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import Label, decide, parallel, ratio
from truebench_hf.metrics.intervals import MIN_CLUSTERS, clustered_share
from truebench_hf.metrics.labelled import Estimate, clip, effective_interval, kish

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
    n: int
    labelled: int


def double_sampling(
    verdicts: Sequence[str],
    gold: Sequence[Label],
    *,
    weights: Sequence[float] | None = None,
    scores: Sequence[float] | None = None,
    groups: Sequence[Hashable] | None = None,
    order: Sequence[str] = (),
) -> DoubleSampling:
    """The share of a run's units that truly pass, with its interval for runs like this one, not for these units alone.

    Parallel columns: `verdicts` names the stratum of every unit, `gold` its label (None: not labelled), `weights` how
    many units a labelled one stands for by the design of the sample (1 each if not given), `scores` the judge's own
    P(yes), `groups` the instance of each unit, where units are criteria. `order` names strata in the order to show.
    Within a stratum the labelled units must be a random sample, up to their weights. Withheld while a stratum has no
    label or fewer than 10 instances have one. Raises `UserError` for columns of unequal length and unknown labels.
    """
    columns = {"verdicts": verdicts, "gold": gold, "weights": weights, "scores": scores, "groups": groups}
    n = parallel(**{name: column for name, column in columns.items() if column is not None})
    units: Sequence[Hashable] = range(n) if groups is None else groups
    sizes = Counter(verdicts)
    names = [*(name for name in order if name in sizes), *sorted(sizes.keys() - set(order))]
    rows: dict[str, list[LabelledSample]] = {name: [] for name in names}
    for i, label in enumerate(gold):
        if label is not None and (truth := decide(label)) is not None:
            row = LabelledSample(units[i], truth, weights[i] if weights else 1.0, scores[i] if scores else 0.0)
            rows[verdicts[i]].append(row)
    found = tuned(verdicts, scores, rows) if scores else Tuned(0.0, 0.0, dict.fromkeys(names, 0.0))
    strata = tuple(_stratum(name, sizes[name], rows[name], found) for name in names)
    given = [row for name in names for row in rows[name]]
    sizes_of = _sizes(given)
    withheld = _why_withheld(strata, len(sizes_of))
    spread = clusters = None
    if not withheld and groups is not None:
        spread = _between_groups(verdicts, units, scores, rows, strata, found)
        clusters = kish(list(sizes_of.values()))
    return DoubleSampling(
        estimate=Estimate(withheld=withheld) if withheld else combined(strata, found.explained, spread, clusters),
        labels_alone=_alone(given, groups is not None),
        strata=strata,
        lambda_=found.lambda_ if scores else None,
        n=n,
        labelled=len(given),
    )


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
    return Estimate(total, effective_interval(total, effective, clusters), effective)


@dataclass(frozen=True, slots=True)
class LabelledSample:
    """A unit with a label: its instance, the label, how many units it stands for, and the judge's score (0..1)."""

    group: Hashable
    truth: bool
    weight: float
    score: float

    def rest(self, lambda_: float) -> float:
        """What the score, taken `lambda_` times, leaves of the label."""
        return self.truth - lambda_ * self.score


@dataclass(frozen=True, slots=True)
class Tuned:
    """`lambda_` (0: scores are ignored), the part of the labels' variance that it takes away (0..1), and the mean score
    of all units of each stratum."""

    lambda_: float
    explained: float
    means: Mapping[str, float]


def tuned(verdicts: Sequence[str], scores: Sequence[float], rows: Mapping[str, Sequence[LabelledSample]]) -> Tuned:
    """The lambda that leaves the least variance in the estimate, by the labelled units of each stratum (verdict).

    Each stratum counts by the square of its size over its labels, as it does in the variance of the estimate. What one
    lambda explains by chance is taken off, as in an adjusted R squared.
    """
    sizes, totals = Counter(verdicts), dict.fromkeys(rows, 0.0)
    for verdict, score in zip(verdicts, scores, strict=True):
        totals[verdict] += score
    means = {name: totals[name] / size for name, size in sizes.items()}
    both = of_scores = of_labels = 0.0
    freedom = -1
    for name, given in rows.items():
        if len(given) < 2:
            continue
        freedom += len(given) - 1
        importance = sizes[name] ** 2 / len(given) / (len(given) - 1)
        label, score = (sum(column) / len(given) for column in zip(*((r.truth, r.score) for r in given), strict=True))
        both += importance * sum((row.truth - label) * (row.score - score) for row in given)
        of_scores += importance * sum((row.score - score) ** 2 for row in given)
        of_labels += importance * sum((row.truth - label) ** 2 for row in given)
    if both <= 0 or freedom < 1:
        return Tuned(0.0, 0.0, means)
    left = (1 - (ratio(both**2, of_scores * of_labels) or 0.0)) * (freedom + 1) / freedom
    return Tuned(both / of_scores, max(0.0, 1 - left), means)


# Of a rare stratum that many are labelled, or all there are. More would cost the others precision.
AT_LEAST = 5


def allocate(sizes: Mapping[str, int], n: int) -> dict[str, int]:
    """`n` labels over strata of these sizes, none beyond its size; with a larger `n` no stratum gets fewer.

    One after the other, each to the stratum that has fewest for its size (Webster's divisors), those with fewer than 5
    first. In proportion, since a stratified sample is then no worse than a simple one, however little verdicts tell.
    """
    given = dict.fromkeys(sizes, 0)
    for _ in range(min(n, sum(sizes.values()))):
        open_ = [name for name, size in sizes.items() if given[name] < size]
        given[max(open_, key=lambda name: (given[name] < AT_LEAST, sizes[name] / (2 * given[name] + 1)))] += 1
    return given


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


def _stratum(name: str, n: int, rows: Sequence[LabelledSample], found: Tuned) -> Stratum:
    if not rows:
        return Stratum(name, n, 0, None, 0.0)
    weights = [row.weight for row in rows]
    share = sum(row.weight * row.truth for row in rows) / sum(weights)
    scored = sum(row.weight * row.score for row in rows) / sum(weights)
    return Stratum(name, n, len(rows), share, kish(weights), found.lambda_ * (found.means[name] - scored))


def _why_withheld(strata: Sequence[Stratum], clusters: int) -> str | None:
    if not strata:
        return "the run has nothing that could be labelled"
    if clusters < MIN_CLUSTERS:
        return f"{clusters} labelled instances, {MIN_CLUSTERS} are needed"
    bare = [f"none of the {s.n} with the verdict {s.name}" for s in strata if not s.labelled]
    return f"{' and '.join(bare)} has a label; label at least one of them, better ten" if bare else None


def _between_groups(
    verdicts: Sequence[str],
    groups: Sequence[Hashable],
    scores: Sequence[float] | None,
    rows: Mapping[str, Sequence[LabelledSample]],
    strata: Sequence[Stratum],
    found: Tuned,
) -> float:
    """The variance of the estimate: what each instance adds to it, as labelled and as judged, left out in turn.

    Few dissenting instances make the variance small by chance, so each stratum adds what is missing to one unit an
    instance, divided by 1 + the instances that dissent; strata rest on the same ones and may miss it all at once.
    """
    moves: defaultdict[Hashable, float] = defaultdict(float)
    unseen = 0.0
    for weight, s, share in _smooth(strata):
        of_stratum = _moves(rows[s.name], s.estimate - found.lambda_ * found.means[s.name], found.lambda_)
        for group, move in of_stratum.items():
            moves[group] += weight * move
        unseen += weight * math.sqrt(_missing(rows[s.name], share * (1 - share), of_stratum))
    by_name = {s.name: s for s in strata}
    total = sum(s.n * s.estimate for s in strata) / len(verdicts)
    gaps: defaultdict[Hashable, list[float]] = defaultdict(list)  # of each instance, how far a unit's stratum is off
    for place, (group, verdict) in enumerate(zip(groups, verdicts, strict=True)):
        gap = by_name[verdict].estimate - total
        gaps[group].append(gap + found.lambda_ * (scores[place] - found.means[verdict]) if scores else gap)
    for group, of_group in gaps.items():
        moves[group] += sum(of_group) / (len(verdicts) - len(of_group))
    return sum(move**2 for move in moves.values()) + unseen**2


def _sizes(rows: Sequence[LabelledSample]) -> dict[Hashable, float]:
    """How many units the labelled ones of each instance stand for."""
    sizes: defaultdict[Hashable, float] = defaultdict(float)
    for row in rows:
        sizes[row.group] += row.weight
    return sizes


def _alone(rows: Sequence[LabelledSample], grouped: bool) -> Estimate:
    """The labels without the judge: their weighted share, and what it is worth where rows are independent."""
    sizes = _sizes(rows)
    if not rows or (grouped and len(sizes) < MIN_CLUSTERS):
        return Estimate(withheld=f"{len(sizes)} labelled instances, {MIN_CLUSTERS} are needed")
    share = clip(sum(row.weight * row.truth for row in rows) / sum(sizes.values()))
    if not grouped:
        effective = kish([row.weight for row in rows])
        return Estimate(share, effective_interval(share, effective), effective)
    passed = _sizes([row for row in rows if row.truth])
    ends = clustered_share([passed.get(group, 0.0) for group in sizes], list(sizes.values()))
    return Estimate(share, ends) if ends else Estimate(withheld="the labelled instances are too unequal in size")


def _moves(rows: Sequence[LabelledSample], mean: float, lambda_: float) -> Mapping[Hashable, float]:
    """How far each group moves the mean of a stratum, against the mean without it."""
    parts: defaultdict[Hashable, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for row in rows:
        parts[row.group][0] += row.weight * (row.rest(lambda_) - mean)
        parts[row.group][1] += row.weight
    if len(parts) < 2:
        return dict.fromkeys(parts, 0.0)
    held, free = sum(row.weight for row in rows), math.sqrt(1 - 1 / len(parts))
    return {group: part / (held - weight) * free for group, (part, weight) in parts.items()}


def _missing(rows: Sequence[LabelledSample], single: float, moves: Mapping[Hashable, float]) -> float:
    """What the moves lack of the variance of a single label in each group."""
    found = sum(move**2 for move in moves.values())
    sides = [{row.group for row in rows if row.truth is side} for side in (True, False)]
    return max(single / len(moves) - found, 0.0) / (1 + min(map(len, sides)))
