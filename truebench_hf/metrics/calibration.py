"""Do a judge's probabilities mean what they say: calibration error, the best threshold, and calibrators that mend them.

None of the five papers has this. The calibration error is that of Guo et al. (2017) for the probability of yes; the
calibrators are temperature, Platt and isotonic. What is measured after a fit is honest only on rows that the fit has
not seen: `out_of_fold` applies to every row what was fitted without its group, and `cross_fit` calibrates so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from truebench_hf.errors import UserError, need, unknown
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


T = TypeVar("T")
Rows = Sequence[tuple[float, bool]]  # (probability of yes, is yes)


def usable(probabilities: Sequence[float | None], labels: Sequence[Label]) -> list[tuple[float, bool]]:
    """The (probability of yes, is yes) rows that have both. Raises `UserError` for a probability outside 0..1."""
    parallel(probabilities=probabilities, labels=labels)
    for row, probability in enumerate(probabilities):
        if probability is not None and not 0 <= probability <= 1:
            raise UserError(f"probability {probability!r} in row {row} is outside 0..1")
    return _decided(probabilities, labels)


def _decided(scores: Sequence[float | None], labels: Sequence[Label]) -> list[tuple[float, bool]]:
    pairs = ((score, decide(label)) for score, label in zip(scores, labels, strict=True))
    return [(score, label) for score, label in pairs if score is not None and label is not None]


def calibration(probabilities: Sequence[float | None], labels: Sequence[Label], *, n_bins: int = 10) -> Calibration:
    """Measure probabilities of yes (0..1) against "yes"/"no" labels, in `n_bins` bins of equal width.

    None is a missing probability or an undecided label. Raises `UserError` for columns of unequal length, other
    labels, and probabilities outside 0..1.
    """
    need("stats", "sklearn", what="calibration")
    from sklearn.metrics import brier_score_loss

    rows = usable(probabilities, labels)
    bins = reliability_bins(rows, n_bins)
    labels_used, values = [label for _, label in rows], [value for value, _ in rows]
    brier = float(brier_score_loss(labels_used, values, pos_label=True)) if rows else None
    gaps = [
        entry.count * abs(entry.mean_probability - entry.share_yes)
        for entry in bins
        if entry.mean_probability is not None and entry.share_yes is not None
    ]
    return Calibration(len(rows), len(probabilities) - len(rows), brier, ratio(sum(gaps), len(rows)), bins)


def reliability_bins(rows: Rows, n_bins: int = 10) -> tuple[Bin, ...]:
    """Sort (probability, is yes) rows into `n_bins` bins of equal width, empty ones included."""
    import numpy as np

    edges = np.linspace(0, 1, n_bins + 1).tolist()
    columns = np.array(rows, dtype=float).reshape(-1, 2)
    places = np.searchsorted(edges[1:-1], columns[:, 0])
    counts = np.bincount(places, minlength=n_bins).tolist()
    sums = (np.bincount(places, column, n_bins).tolist() for column in columns.T)
    bins = zip(edges[:-1], edges[1:], counts, *sums, strict=True)
    return tuple(Bin(low, high, count, ratio(p, count), ratio(yes, count)) for low, high, count, p, yes in bins)


def best_threshold(
    scores: Sequence[float | None],
    labels: Sequence[Label],
    measure: Literal["balanced_accuracy", "kappa"] = "balanced_accuracy",
) -> tuple[float, float] | None:
    """(threshold, measure) where saying yes from the threshold on has the highest measure; None unless both labels occur.

    Tried are the lowest score, from which all are yes, and the middle between each two neighbouring scores. Of equally
    good ones by balanced accuracy (of probabilities) the nearest to 0.5 is taken, by Cohen's kappa (of ratings) the middle
    one. Fit it on cross-fitted probabilities: on the rows a calibrator was fitted on it is too good.
    """
    import numpy as np

    rows = _decided(scores, labels)
    yes, no = (np.sort([value for value, label in rows if label is side]) for side in (True, False))
    if not len(yes) or not len(no):
        return None
    steps = np.unique([value for value, _ in rows])
    middles = (steps[:-1] + steps[1:]) / 2
    cuts = np.concatenate([steps[:1], np.where(steps[:-1] < middles, middles, steps[1:])])
    hit, alarm = ((len(side) - np.searchsorted(side, cuts)) / len(side) for side in (yes, no))
    if measure == "balanced_accuracy":
        worth = (hit + 1 - alarm) / 2
        good = cuts[worth >= worth.max() - 1e-12][::-1]
        return float(min(good, key=lambda cut: abs(cut - 0.5))), float(worth.max())
    share = len(yes) / len(rows)
    called, right = share * hit + (1 - share) * alarm, share * hit + (1 - share) * (1 - alarm)
    by_chance = share * called + (1 - share) * (1 - called)
    worth = np.round((right - by_chance) / (1 - by_chance), 12)
    good = cuts[worth == worth.max()]
    return float(good[(len(good) - 1) // 2]), float(worth.max())


# Keeps the log-odds of 0 and 1 finite: about 13.8 either way.
_EDGE = 1e-6
_LOG_TEMPERATURE_LIMIT = math.log(100)


@dataclass(frozen=True)
class Calibrator:
    """A fitted map of probabilities (0..1) to probabilities.

    temperature and platt: log-odds times `slope` plus `intercept` (the temperature is 1 / slope). isotonic: straight
    lines between `knots` (probability in, probability out), level outside of them.
    """

    kind: str
    slope: float = 1.0
    intercept: float = 0.0
    knots: tuple[tuple[float, float], ...] = ()

    def apply(self, p: float) -> float:
        """The calibrated probability. Raises `UserError` for `p` outside 0..1."""
        if not 0 <= p <= 1:
            raise UserError(f"probability {p!r} is outside 0..1")
        if self.kind != "isotonic":
            # math.exp overflows beyond 709, where the answer is 0 or 1 long since.
            return 1 / (1 + math.exp(-min(max(self.slope * _logit(p) + self.intercept, -700.0), 700.0)))
        import numpy as np

        return float(np.interp(p, [x for x, _ in self.knots], [y for _, y in self.knots]))

    @staticmethod
    def of_fields(fields: Mapping[str, Any]) -> Calibrator:
        """The calibrator whose `dataclasses.asdict` this is, back from JSON. Raises `UserError` for anything else."""
        try:
            knots = tuple((float(x), float(y)) for x, y in fields.get("knots", ()))
            calibrator = Calibrator(**{**fields, "knots": knots})
            flat = [number for knot in knots for number in knot]
            finite = all(map(math.isfinite, [calibrator.slope, calibrator.intercept, *flat]))
        except (AttributeError, TypeError, ValueError) as error:
            raise UserError(
                f"not a calibrator: {error}; give the JSON that `truebench study calibrate` wrote"
            ) from error
        if calibrator.kind not in FITTERS:
            raise unknown("calibrator", str(calibrator.kind), FITTERS)
        if not finite or any(not 0 <= number <= 1 for number in flat) or knots != tuple(sorted(knots)):
            raise UserError("calibrator holds numbers that no fit gives: knots must ascend within 0..1")
        if (calibrator.kind == "isotonic") != bool(knots):
            raise UserError("calibrator must have knots if it is isotonic, and only then")
        return calibrator


def _fit_temperature(rows: Rows) -> Calibrator:
    """One temperature T that divides the log-odds, at the least log loss (Guo et al. 2017), T within 0.01 to 100.

    A limit is reached where the labels are perfectly separated (0.01) or the judge is no better than chance (100).
    """
    import numpy as np
    from scipy.optimize import minimize_scalar

    # The log loss of a row is log(1 + exp(-m / T)), m the log-odds of what was right.
    margins = np.array([_logit(p) if label else -_logit(p) for p, label in rows])

    def loss(log_temperature: float) -> float:
        return float(np.logaddexp(0, -margins * math.exp(-log_temperature)).mean())

    limits = (-_LOG_TEMPERATURE_LIMIT, _LOG_TEMPERATURE_LIMIT)
    fitted = minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-8})
    return Calibrator("temperature", slope=math.exp(-float(fitted.x)))


def _fit_platt(rows: Rows) -> Calibrator:
    """Logistic regression on the log-odds, towards Platt's (1999) softened targets in place of 0 and 1.

    The softened targets, (yes + 1) / (yes + 2) and 1 / (no + 2), keep the fit finite where a probability separates
    the labels.
    """
    need("stats", "sklearn", what="Platt scaling")
    from sklearn.linear_model import LogisticRegression

    yes = sum(label for _, label in rows)
    no = len(rows) - yes
    targets = [(yes + 1) / (yes + 2) if label else 1 / (no + 2) for _, label in rows]
    # A row with target t enters twice: as a yes that weighs t and as a no that weighs 1 - t.
    x = [[_logit(p)] for p, _ in rows] * 2
    weights = targets + [1 - target for target in targets]
    model = LogisticRegression(C=math.inf, tol=1e-8, max_iter=1000)
    model.fit(x, [1] * len(rows) + [0] * len(rows), sample_weight=weights)
    return Calibrator("platt", slope=float(model.coef_[0][0]), intercept=float(model.intercept_[0]))


def _fit_isotonic(rows: Rows) -> Calibrator:
    """The nearest rising step function, as scikit-learn fits it; wants some hundred rows."""
    need("stats", "sklearn", what="isotonic calibration")
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0, y_max=1).fit([p for p, _ in rows], [label for _, label in rows])
    pairs = zip(model.X_thresholds_, model.y_thresholds_, strict=True)
    return Calibrator("isotonic", knots=tuple((float(x), float(y)) for x, y in pairs))


FITTERS = {"temperature": _fit_temperature, "platt": _fit_platt, "isotonic": _fit_isotonic}


def fit(kind: str, probabilities: Sequence[float | None], labels: Sequence[Label]) -> Calibrator | None:
    """Fit the calibrator of that kind: "temperature", "platt" or "isotonic"; None unless both labels occur.

    Raises `UserError` for another kind, and as `usable` does.
    """
    if kind not in FITTERS:
        raise unknown("calibrator", kind, FITTERS)
    rows = usable(probabilities, labels)
    return FITTERS[kind](rows) if len({label for _, label in rows}) == 2 else None


def cross_fit(
    kind: str, probabilities: Sequence[float | None], labels: Sequence[Label], groups: Sequence[Hashable],
    *, folds: int = 5, seed: int = 0,
) -> tuple[list[float | None], list[Label]]:  # fmt: skip
    """Calibrate every row by what saw no row of its group (the instruction), and decide it by the best threshold there.

    Calibrated probabilities, and "yes" or "no": None where a row has no probability, or where the other folds hold one
    label only. Raises `UserError` for columns of unequal length or a bad kind.
    """
    parallel(probabilities=probabilities, labels=labels, groups=groups)
    if kind not in FITTERS:
        raise unknown("calibrator", kind, FITTERS)

    def rule(train: Sequence[int]) -> Callable[[int], tuple[float, Label] | None]:
        shares, truth = [probabilities[row] for row in train], [labels[row] for row in train]
        calibrator = fit(kind, shares, truth)
        if calibrator is None:
            return lambda row: None
        fitted = [None if share is None else calibrator.apply(share) for share in shares]
        cut = best_threshold(fitted, truth, "balanced_accuracy")

        def decided(row: int) -> tuple[float, Label] | None:
            share = probabilities[row]
            if share is None or cut is None:
                return None
            return (value := calibrator.apply(share)), "yes" if value >= cut[0] else "no"

        return decided

    rows = [row or (None, None) for row in out_of_fold(groups, folds, seed, rule)]
    return [value for value, _ in rows], [label for _, label in rows]


def out_of_fold(
    groups: Sequence[Hashable], folds: int, seed: int, rule: Callable[[Sequence[int]], Callable[[int], T | None]]
) -> list[T | None]:
    """What a rule that was made without a row's group says of it, for every row; None below two groups.

    `rule` takes the rows it may be made from, and returns what says something of another row. Groups are dealt into
    `folds` folds, or one each where there are fewer.
    """
    need("stats", "sklearn", what="cross-fitting")
    from sklearn.model_selection import GroupKFold

    codes = {group: code for code, group in enumerate(dict.fromkeys(groups))}
    out: list[T | None] = [None] * len(groups)
    if min(folds, len(codes)) < 2:
        return out
    split = GroupKFold(min(folds, len(codes)), shuffle=True, random_state=seed)
    for train, test in split.split(range(len(groups)), groups=[codes[group] for group in groups]):
        says = rule(train.tolist())
        for row in test.tolist():
            out[row] = says(row)
    return out


def _logit(p: float) -> float:
    inside = min(max(p, _EDGE), 1 - _EDGE)
    return math.log(inside / (1 - inside))
