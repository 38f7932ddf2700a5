"""Maps from a judge's probability to a calibrated one: temperature, Platt, isotonic; fitted and stored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.errors import UserError, unknown
from truebench_hf.extras import need
from truebench_hf.metrics.binary import Label
from truebench_hf.metrics.calibration import usable

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
            return _expit(self.slope * _logit(p) + self.intercept)
        import numpy as np

        return float(np.interp(p, [x for x, _ in self.knots], [y for _, y in self.knots]))

    @staticmethod
    def of_fields(given: Mapping[str, Any]) -> Calibrator:
        """The calibrator whose `dataclasses.asdict` this is, back from JSON. Raises `UserError` for anything else."""
        try:
            knots = tuple((float(x), float(y)) for x, y in given.get("knots", ()))
            calibrator = Calibrator(**{**given, "knots": knots})
            numbers = [calibrator.slope, calibrator.intercept, *(number for knot in knots for number in knot)]
            finite = all(math.isfinite(number) for number in numbers)
        except (AttributeError, TypeError, ValueError) as error:
            raise UserError(
                f"not a calibrator: {error}; give the JSON that `truebench study calibrate` wrote"
            ) from error
        if calibrator.kind not in FITTERS:
            raise unknown("calibrator", str(calibrator.kind), FITTERS)
        flat = [number for knot in knots for number in knot]
        if not finite or any(not 0 <= number <= 1 for number in flat) or knots != tuple(sorted(knots)):
            raise UserError("calibrator holds numbers that no fit gives: knots must ascend within 0..1")
        if (calibrator.kind == "isotonic") != bool(knots):
            raise UserError("calibrator must have knots if it is isotonic, and only then")
        return calibrator


def fit_temperature(probabilities: Sequence[float | None], labels: Sequence[Label]) -> Calibrator | None:
    """One temperature T that divides the log-odds, at the least log loss (Guo et al. 2017), T within 0.01 to 100.

    A limit is reached where the labels are perfectly separated (0.01) or the judge is no better than chance (100).
    None unless both labels occur. Raises as `usable` does.
    """
    import numpy as np
    from scipy.optimize import minimize_scalar

    rows = usable(probabilities, labels)
    if len({label for _, label in rows}) < 2:
        return None
    # The log loss of a row is log(1 + exp(-m / T)), m the log-odds of what was right.
    margins = np.array([_logit(p) if label else -_logit(p) for p, label in rows])

    def loss(log_temperature: float) -> float:
        return float(np.logaddexp(0, -margins * math.exp(-log_temperature)).mean())

    limits = (-_LOG_TEMPERATURE_LIMIT, _LOG_TEMPERATURE_LIMIT)
    found = minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-8})
    return Calibrator("temperature", slope=math.exp(-float(found.x)))


def fit_platt(probabilities: Sequence[float | None], labels: Sequence[Label]) -> Calibrator | None:
    """Logistic regression on the log-odds, towards Platt's (1999) softened targets in place of 0 and 1.

    The softened targets, (yes + 1) / (yes + 2) and 1 / (no + 2), keep the fit finite where a probability separates
    the labels. None unless both labels occur. Raises as `usable` does.
    """
    need("stats", "sklearn", what="Platt scaling")
    from sklearn.linear_model import LogisticRegression

    rows = usable(probabilities, labels)
    yes = sum(label for _, label in rows)
    no = len(rows) - yes
    if not yes or not no:
        return None
    targets = [(yes + 1) / (yes + 2) if label else 1 / (no + 2) for _, label in rows]
    # A row with target t enters twice: as a yes that weighs t and as a no that weighs 1 - t.
    x = [[_logit(p)] for p, _ in rows] * 2
    weights = targets + [1 - target for target in targets]
    model = LogisticRegression(C=math.inf, tol=1e-8, max_iter=1000)
    model.fit(x, [1] * len(rows) + [0] * len(rows), sample_weight=weights)
    return Calibrator("platt", slope=float(model.coef_[0][0]), intercept=float(model.intercept_[0]))


def fit_isotonic(probabilities: Sequence[float | None], labels: Sequence[Label]) -> Calibrator | None:
    """The nearest rising step function, as scikit-learn fits it; wants some hundred rows. None as the others."""
    need("stats", "sklearn", what="isotonic calibration")
    from sklearn.isotonic import IsotonicRegression

    rows = usable(probabilities, labels)
    if len({label for _, label in rows}) < 2:
        return None
    model = IsotonicRegression(y_min=0, y_max=1).fit([p for p, _ in rows], [label for _, label in rows])
    pairs = zip(model.X_thresholds_, model.y_thresholds_, strict=True)
    return Calibrator("isotonic", knots=tuple((float(x), float(y)) for x, y in pairs))


FITTERS = {"temperature": fit_temperature, "platt": fit_platt, "isotonic": fit_isotonic}


def fit(kind: str, probabilities: Sequence[float | None], labels: Sequence[Label]) -> Calibrator | None:
    """Fit the calibrator of that kind: "temperature", "platt" or "isotonic". Raises `UserError` for another kind."""
    if kind not in FITTERS:
        raise unknown("calibrator", kind, FITTERS)
    return FITTERS[kind](probabilities, labels)


def _logit(p: float) -> float:
    inside = min(max(p, _EDGE), 1 - _EDGE)
    return math.log(inside / (1 - inside))


def _expit(x: float) -> float:
    # math.exp overflows beyond 709, where the answer is 0 or 1 long since.
    return 1 / (1 + math.exp(-min(max(x, -700.0), 700.0)))
