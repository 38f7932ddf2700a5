"""A pass rate by prediction-powered inference (Angelopoulos et al. 2023): the judge's, set right by labelled rows.

Unlike `bias.py` it needs no model of the judge's errors, but labels of the run itself. None of the five papers has it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from truebench_hf.metrics.binary import Label, decide, ratio
from truebench_hf.metrics.labelled import MIN_LABELLED, ONE_INSTANCE, SMALL, clip, grouped_variance, interval, names_of


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
    names = names_of(groups, judged=judged, gold=gold)
    columns = zip(names, map(decide, judged), map(decide, gold), strict=True)
    rows = [(name, verdict, truth) for name, verdict, truth in columns if verdict is not None]
    gaps = [truth - verdict for _, verdict, truth in rows if truth is not None]
    n, share = len(gaps), ratio(sum(verdict for _, verdict, _ in rows), len(rows))
    rectifier = ratio(sum(gaps), n)
    estimate: float | None = None
    ci95: tuple[float, float] | None = None
    withheld = f"{n} labelled rows, {MIN_LABELLED} are needed" if n < MIN_LABELLED else None
    if withheld is None and len({name for name, _, _ in rows}) < 2:
        withheld = ONE_INSTANCE
    if withheld is None and share is not None and rectifier is not None:
        estimate = clip(share + rectifier)
        # What each row adds to the sum, less its mean: a labelled row also speaks for the unlabelled ones.
        parts = [
            (name, verdict - share + (0 if truth is None else len(rows) / n * (truth - verdict - rectifier)))
            for name, verdict, truth in rows
        ]
        independent = estimate * (1 - estimate) / len(rows) + (1 / n - 1 / len(rows)) * _spread(gaps)
        ci95 = interval(share + rectifier, max(independent, grouped_variance(parts)))
    unusable = sum(decide(label) is not None for label in gold) - n
    return PredictionPowered(
        estimate, ci95, share, rectifier, len(rows), len(judged) - len(rows), n, unusable, withheld
    )


def _spread(gaps: Sequence[int]) -> float:
    """Variance of label minus judge; never 0, since a sample without errors does not prove a judge without."""
    strict, lenient = gaps.count(1), gaps.count(-1)
    extra = 1 if min(strict, lenient) < SMALL else 0
    n = len(gaps) + 2 * extra
    return (strict + lenient + 2 * extra) / n - ((strict - lenient) / n) ** 2
