"""Do a judge's probabilities mean what they say: calibration error, the best threshold, and calibrators that mend them.

None of the five papers has this. The calibration error is that of Guo et al. (2017) for the probability of yes; the
calibrators are temperature, Platt and isotonic. What is measured after a fit is honest only on rows that had no say in
it: `cross_fit` calibrates every row by a calibrator that saw no row of its group.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from truebench_hf.errors import UserError, unknown
from truebench_hf.extras import need
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


@dataclass(frozen=True)
class Threshold:
    """Say yes from probability `value` on; `balanced_accuracy` (0..1) is what that gives on the `n` rows seen."""

    value: float
    balanced_accuracy: float
    n: int


Rows = Sequence[tuple[float, bool]]  # (probability of yes, is yes)


def usable(probabilities: Sequence[float | None], labels: Sequence[Label]) -> list[tuple[float, bool]]:
    """The (probability of yes, is yes) rows that have both. Raises `UserError` for a probability outside 0..1."""
    parallel(probabilities=probabilities, labels=labels)
    for row, probability in enumerate(probabilities):
        if probability is not None and not 0 <= probability <= 1:
            raise UserError(f"probability {probability!r} in row {row} is outside 0..1")
    pairs = ((probability, decide(label)) for probability, label in zip(probabilities, labels, strict=True))
    return [(probability, label) for probability, label in pairs if probability is not None and label is not None]


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


def thresholds(scores: Sequence[float]) -> list[float]:
    """Every threshold that tells scores apart, ascending: the lowest score, and halfway between each two neighbours."""
    steps = sorted(set(scores))
    middles = ((low, (low + high) / 2, high) for low, high in itertools.pairwise(steps))
    return [*steps[:1], *(middle if low < middle else high for low, middle, high in middles)]


def best_threshold(probabilities: Sequence[float | None], labels: Sequence[Label]) -> Threshold | None:
    """The threshold with the highest balanced accuracy; None unless both labels occur.

    It lies halfway between two neighbouring probabilities; of several equally good ones the nearest to 0.5 is taken.
    Fit it on cross-fitted probabilities: on the rows a calibrator was fitted on it is too good.
    """
    import numpy as np

    rows = usable(probabilities, labels)
    yes, no = (np.sort([value for value, label in rows if label is side]) for side in (True, False))
    if not len(yes) or not len(no):
        return None
    cuts = thresholds([value for value, _ in rows])[::-1]
    hit, alarm = ((len(side) - np.searchsorted(side, cuts)) / len(side) for side in (yes, no))
    scores = (hit + 1 - alarm) / 2
    top = float(scores.max())
    value = min(
        (cut for cut, score in zip(cuts, scores, strict=True) if score >= top - 1e-12), key=lambda cut: abs(cut - 0.5)
    )
    return Threshold(value, top, len(rows))


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
    kind: str,
    probabilities: Sequence[float | None],
    labels: Sequence[Label],
    groups: Sequence[Hashable],
    *,
    folds: int = 5,
    seed: int = 0,
) -> tuple[float | None, ...]:
    """Calibrate every row with a calibrator that saw no row of its group (the instruction), for honest measures.

    Groups are dealt into `folds` folds, or one each where there are fewer. A row comes back None if it has no
    probability, or if the other folds hold one label only. Raises `UserError` for unequal columns or a bad kind.
    """
    out: list[float | None] = [None] * len(probabilities)
    for calibrator, _, test in held_out(kind, probabilities, labels, groups, folds, seed):
        for row in test:
            p = probabilities[row]
            out[row] = None if calibrator is None or p is None else calibrator.apply(p)
    return tuple(out)


def cross_labels(
    kind: str,
    probabilities: Sequence[float | None],
    labels: Sequence[Label],
    groups: Sequence[Hashable],
    *,
    folds: int = 5,
    seed: int = 0,
) -> tuple[Literal["yes", "no"] | None, ...]:
    """What `cross_fit` makes of every row, decided by the best threshold on the calibrated rows of the other folds.

    The row's own group has no say in either. None and errors as there.
    """
    out: list[Literal["yes", "no"] | None] = [None] * len(probabilities)
    for calibrator, train, test in held_out(kind, probabilities, labels, groups, folds, seed):
        if calibrator is None:
            continue
        seen = [None if (p := probabilities[row]) is None else calibrator.apply(p) for row in train]
        best = best_threshold(seen, [labels[row] for row in train])
        for row in test:
            p = probabilities[row]
            if best is not None and p is not None:
                out[row] = "yes" if calibrator.apply(p) >= best.value else "no"
    return tuple(out)


def held_out(
    kind: str,
    probabilities: Sequence[float | None],
    labels: Sequence[Label],
    groups: Sequence[Hashable],
    folds: int,
    seed: int,
) -> Iterator[tuple[Calibrator | None, Sequence[int], Sequence[int]]]:
    """(calibrator fitted on the training rows, training rows, test rows) of each fold; none below two groups.

    No group is in both. Raises `UserError` for columns of unequal length or a bad kind.
    """
    parallel(probabilities=probabilities, labels=labels, groups=groups)
    if kind not in FITTERS:
        raise unknown("calibrator", kind, FITTERS)
    for train, test in parts(groups, folds, seed):
        yield fit(kind, [probabilities[row] for row in train], [labels[row] for row in train]), train, test


def parts(groups: Sequence[Hashable], folds: int, seed: int) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
    """(training rows, test rows) of each fold, every group in one of the two; none below two groups."""
    need("stats", "sklearn", what="cross-fitting")
    from sklearn.model_selection import GroupKFold

    codes = {group: code for code, group in enumerate(dict.fromkeys(groups))}
    folds = min(folds, len(codes))
    if folds < 2:
        return
    split = GroupKFold(folds, shuffle=True, random_state=seed)
    for train, test in split.split(range(len(groups)), groups=[codes[group] for group in groups]):
        yield train.tolist(), test.tolist()


def _logit(p: float) -> float:
    inside = min(max(p, _EDGE), 1 - _EDGE)
    return math.log(inside / (1 - inside))
