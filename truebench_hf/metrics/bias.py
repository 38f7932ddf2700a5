"""A pass rate corrected for the judge's errors, from a sample of human labels of the same run.

Two estimates beside each other: Rogan and Gladen (1978), as applied to LLM judges in arXiv 2511.21140 and 2605.06939,
and prediction-powered inference (Angelopoulos et al. 2023). None of the five papers has this.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import Label, decide, decided_pairs, parallel, ratio

Z95 = 1.959963984540054
MIN_LABELLED = 30
MIN_YOUDEN_J = 0.3
# Below this a count is small: a share of 0 or 1 would claim to be free of error.
_SMALL = 5
_ONE_INSTANCE = "all rows are of one instance, which tells nothing about others"


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
class PredictionPowered:
    """Pass rate (0..1) with its 95% interval, or the reason in `withheld`; `rectifier` is the mean label minus judge.

    `n` decided rows of the run, `n_labelled` of them with a label; `undecided` rows of the run have no verdict, and
    `unusable` of those had a label.
    """

    estimate: float | None
    ci95: tuple[float, float] | None
    observed: float | None
    rectifier: float | None
    n: int
    undecided: int
    n_labelled: int
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
    not from this run, fewer than 30 labelled rows truly pass or fail, or the lower bound of J is below 0.3. Raises
    `UserError` for columns of unequal length and labels other than yes and no.
    """
    names = _names(groups, judged=judged)
    run = [verdict for label in judged if (verdict := decide(label)) is not None]
    pairs = decided_pairs(gold, predicted)
    n1 = sum(truth for truth, _ in pairs)
    n0 = len(pairs) - n1
    share, rates = ratio(sum(run), len(run)), _rates(pairs)
    spread = None if share is None else _share_variance(judged, names, share)
    withheld = _why_withheld(n0, n1, rates, labels_from_run) or _why_no_share(share, spread)
    found = None if withheld or share is None or spread is None or rates is None else _corrected(share, spread, rates)
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
    estimate = _clip(raw)
    variance = spread + (1 - estimate) ** 2 * rates.var_c + estimate**2 * rates.var_s
    return estimate, _interval(raw, variance / rates.j**2)


def prediction_powered(
    judged: Sequence[Label], gold: Sequence[Label], *, groups: Sequence[Hashable] | None = None
) -> PredictionPowered:
    """Mean of the judge over the run plus mean of label minus judge over the labelled rows, cut to 0..1.

    `gold` is parallel to `judged`, None where a row is not labelled; the labelled rows must be a random sample of the
    run. No model of the judge's errors is needed. `groups` is as in `bias_corrected`. The interval is the wider of
    two: that of the sum above over instances, and that for independent rows, T (1 - T) / N plus (1 / n - 1 / N) times
    the variance of label minus judge, to which, with fewer than 5 errors either way, one of each is added. Withheld
    below 30 labelled rows. Raises `UserError` as `bias_corrected`.
    """
    names = _names(groups, judged=judged, gold=gold)
    columns = zip(names, map(decide, judged), map(decide, gold), strict=True)
    rows = [(name, verdict, truth) for name, verdict, truth in columns if verdict is not None]
    gaps = [truth - verdict for _, verdict, truth in rows if truth is not None]
    n, share = len(gaps), ratio(sum(verdict for _, verdict, _ in rows), len(rows))
    rectifier = ratio(sum(gaps), n)
    estimate: float | None = None
    ci95: tuple[float, float] | None = None
    withheld = f"{n} labelled rows, {MIN_LABELLED} are needed" if n < MIN_LABELLED else None
    if withheld is None and len({name for name, _, _ in rows}) < 2:
        withheld = _ONE_INSTANCE
    if withheld is None and share is not None and rectifier is not None:
        estimate = _clip(share + rectifier)
        # What each row adds to the sum, less its mean: a labelled row also speaks for the unlabelled ones.
        parts = [
            (name, verdict - share + (0 if truth is None else len(rows) / n * (truth - verdict - rectifier)))
            for name, verdict, truth in rows
        ]
        independent = estimate * (1 - estimate) / len(rows) + (1 / n - 1 / len(rows)) * _spread(gaps)
        ci95 = _interval(share + rectifier, max(independent, _grouped_variance(parts)))
    unusable = sum(decide(label) is not None for label in gold) - n
    return PredictionPowered(
        estimate, ci95, share, rectifier, len(rows), len(judged) - len(rows), n, unusable, withheld
    )


def _spread(gaps: Sequence[int]) -> float:
    """Variance of label minus judge; never 0, since a sample without errors does not prove a judge without."""
    strict, lenient = gaps.count(1), gaps.count(-1)
    extra = 1 if min(strict, lenient) < _SMALL else 0
    n = len(gaps) + 2 * extra
    return (strict + lenient + 2 * extra) / n - ((strict - lenient) / n) ** 2


def _grouped_variance(parts: Sequence[tuple[Hashable, float]]) -> float:
    """Variance of a mean whose rows, given less the mean, are independent between groups only."""
    totals: defaultdict[Hashable, float] = defaultdict(float)
    for group, part in parts:
        totals[group] += part
    return len(totals) / (len(totals) - 1) * sum(total**2 for total in totals.values()) / len(parts) ** 2


def _rates(pairs: Sequence[tuple[bool, bool]]) -> _Rates | None:
    """None where no labelled row truly passes, or none truly fails: then one of the rates is unknown."""
    cells = [pairs.count(cell) for cell in ((True, True), (True, False), (False, False), (False, True))]
    extra = 1 if min(cells) < _SMALL else 0
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
    return _ONE_INSTANCE if spread is None else None


def _names(groups: Sequence[Hashable] | None, **columns: Sequence[Label]) -> Sequence[Hashable]:
    """What each row depends on: its group, or itself alone where there are no groups."""
    if groups is None:
        return range(parallel(**columns))
    parallel(**columns, groups=groups)
    return groups


def _share_variance(judged: Sequence[Label], names: Sequence[Hashable], share: float) -> float | None:
    """Variance of the judge's share, not below that of independent rows; None where all rows are of one group."""
    verdicts = zip(names, map(decide, judged), strict=True)
    parts = [(name, verdict - share) for name, verdict in verdicts if verdict is not None]
    independent, groups = share * (1 - share) / len(parts), len({name for name, _ in parts})
    if groups == len(parts) > 1:
        return independent
    return max(independent, _grouped_variance(parts)) if groups > 1 else None


def _clip(share: float) -> float:
    return min(max(share, 0.0), 1.0)


def _interval(centre: float, variance: float) -> tuple[float, float]:
    reach = Z95 * math.sqrt(variance)
    return _clip(centre - reach), _clip(centre + reach)
