"""What a calibration shows: measures before and after, the fit, the reliability plot with its bins, and the cascades."""

from __future__ import annotations

import math
from collections.abc import Sequence

from truebench_hf.benchmarks.rubric_eval.calibration.measures import Fit
from truebench_hf.metrics.calibration import Calibration
from truebench_hf.metrics.cascade import Point, frontier
from truebench_hf.report.sections import Axis, Grid, Plot, Section, Series, fixed, interval, value

_CHOSEN = "chosen, on unseen instructions"
UNSEEN = "Calibrated figures are cross-fitted: each instruction by a fit that has not seen it."


def sections(study: Fit) -> list[Section]:
    """Everything the report shows, in order."""
    shown: list[Section] = [_measures(study), _decisions(study), _fit(study), _reliability(study), _bins(study)]
    return [*shown, *price_sections(study)]


def _measures(study: Fit) -> Grid:
    before, after = study.before, study.after
    rows = (
        ("Brier score", fixed(before.brier, 4), fixed(after.brier, 4)),
        ("Calibration error (ECE)", fixed(before.ece, 4), fixed(after.ece, 4)),
        ("Rubrics", before.n, after.n),
        ("left out", before.left_out, after.left_out),
    )
    return Grid("Probabilities before and after", ("", "as given", "calibrated"), rows, note=UNSEEN)


def _decisions(study: Fit) -> Grid:
    rules = dict(study.agreement)
    if study.worth:
        rules["chosen from the cascades, undecided = wrong"] = study.worth
    rows = tuple((name, value(score), interval(score), score.n, score.unscored) for name, score in rules.items())
    header = ("Decided by", "balanced accuracy %", "95 % interval", "n", "undecided")
    note = "Intervals: the clusters are the instructions."
    if study.worth:
        note += " What is chosen is measured in nested folds, on instructions that had no say in the choice."
    return Grid("Decisions", header, rows, note=note)


def _fit(study: Fit) -> Grid:
    fitted, calibrator = study.calibrated, study.calibrated.calibrator
    shown = f"{len(calibrator.knots)} knots"
    if calibrator.kind == "temperature":
        shown = f"temperature {1 / calibrator.slope:.3f}"
    elif calibrator.kind == "platt":
        shown = f"slope {calibrator.slope:.3f}, intercept {calibrator.intercept:.3f}"
    band = f"{fitted.band[0]:.3f} to {fitted.band[1]:.3f}" if fitted.band else "-"
    rows = (("Calibrator", f"{calibrator.kind}: {shown}"), ("Threshold", f"{fitted.threshold:.3f}"), ("Band", band))
    return Grid("What was fitted", ("", "on calibrated probabilities"), rows, prose=(1,))


def _reliability(study: Fit) -> Plot:
    return Plot(
        "Reliability",
        (_line("as given", study.before), _line("calibrated", study.after)),
        Axis("P(yes) the judge gives, mean of a bin", 0, 1),
        Axis("share that is met", 0, 1),
        diagonal=True,
        note="On the dashed line a probability means what it says; the size of a dot shows how many rubrics are in it.",
    )


def _line(name: str, measured: Calibration) -> Series:
    most = max(entry.count for entry in measured.bins) or 1
    points = tuple(
        (entry.mean_probability, entry.share_yes, entry.count / most, f"{entry.count} rubrics")
        for entry in measured.bins
        if entry.mean_probability is not None and entry.share_yes is not None
    )
    return Series(name, points, joined=True)


def _bins(study: Fit) -> Grid:
    pairs = zip(study.before.bins, study.after.bins, strict=True)
    cells = [(f"{b.lower:.1f} to {b.upper:.1f}", b.count, b.share_yes, a.count, a.share_yes) for b, a in pairs]
    header = ("P(yes)", "n as given", "met", "n calibrated", "met")
    rows = tuple((span, n, fixed(met, 4), m, fixed(after, 4)) for span, n, met, m, after in cells)
    return Grid("Bins of the reliability plot", header, rows, printed=False)


def price_sections(study: Fit) -> list[Section]:
    """Cost against balanced accuracy of every threshold and band and of each judge alone, and the best as a table."""
    known = [point for point in study.points if point.balanced_accuracy is not None]
    if not known:
        return []
    return [_plot(study, known), _table(study, known)]


def _plot(study: Fit, known: Sequence[Point]) -> Plot:
    groups = {
        "bands": [point for point in known if point.low is not None],
        "thresholds alone": [point for point in known if point.low is None and point.high is not None],
        "best for its cost": frontier(known),
        "decision judge alone": _decision(study, known),
        "reasoning judge alone": [point for point in known if point.high is None],
        _CHOSEN: [study.choice] if study.choice and study.choice.balanced_accuracy is not None else [],
    }
    weights = dict.fromkeys([*groups][:3], 0.0)
    series = [
        Series(name, tuple(_dot(point, study.responses, weights.get(name, 0.6)) for point in points), joined)
        for name, points in groups.items()
        if points
        for joined in [name == "best for its cost"]
    ]
    shares = [100 * (point.balanced_accuracy or 0) for group in groups.values() for point in group]
    low, high = min(shares) // 5 * 5, -(-max(shares) // 5) * 5
    return Plot(
        "What a cascade costs",
        tuple(series),
        Axis(f"{_unit(known)}, both judges together", 0, _above(max(point.cost for point in known) / study.responses)),
        Axis("balanced accuracy, %", low, high if high > low else low + 5),
        note="Undecided counts as wrong. Every point is measured on the rows it would be chosen on, but the chosen one "
        "on unseen instructions. The reasoning judge's verdicts are those of one pass over all rubrics."
        + (" A judge reports no tokens, so calls are counted." if known[0].tokens is None else ""),
    )


def _table(study: Fit, known: Sequence[Point]) -> Grid:
    alone = [(f"decision judge alone (threshold {point.high:.3f})", point) for point in _decision(study, known)]
    alone += [(_span(point), point) for point in known if point.high is None]
    rows = [(name, *_cells(point, study.responses)) for name, point in alone]
    rows += [(_span(point), *_cells(point, study.responses)) for point in _steps(frontier(known))]
    if study.choice and study.choice.balanced_accuracy is not None:
        rows.append((f"{_CHOSEN}: {_span(study.choice)}", *_cells(study.choice, study.responses)))
    header = ("P(yes) handed on", "rubrics %", "calls", "tokens", _unit(known), "balanced accuracy %")
    note = (
        "Below the judges alone: what nothing cheaper beats, each half a point better than the one above; all of them "
        "are in calibration.json. They look better here than on new data, since they were picked on these rows; the "
        "last line, the cheapest within a point of the best, is measured on instructions it was not picked on."
    )
    return Grid("What a cascade costs: the best", header, tuple(rows), note=note)


def _decision(study: Fit, known: Sequence[Point]) -> list[Point]:
    """The decision judge alone, at the fitted threshold."""
    return [point for point in known if point.low is None and point.high == study.calibrated.threshold]


def _steps(edge: Sequence[Point]) -> list[Point]:
    """The points of a frontier that are worth a line: half a point better than the last one shown."""
    shown: list[Point] = []
    for point in edge:
        if not shown or (point.balanced_accuracy or 0) >= (shown[-1].balanced_accuracy or 0) + 0.005:
            shown.append(point)
    return shown


def _dot(point: Point, responses: int, weight: float) -> tuple[float, float, float, str]:
    share, calls, tokens, _, accuracy = _cells(point, responses)
    shown = f"{_span(point)}, {share} % handed on, {calls} calls, {tokens} tokens, balanced accuracy {accuracy} %"
    return point.cost / responses, 100 * (point.balanced_accuracy or 0), weight, shown


def _cells(point: Point, responses: int) -> tuple[str, ...]:
    tokens = "-" if point.tokens is None else f"{point.tokens:,.0f}"
    accuracy = f"{100 * (point.balanced_accuracy or 0):.2f}"
    return f"{100 * point.handed_on:.1f}", str(point.calls), tokens, f"{point.cost / responses:,.1f}", accuracy


def _span(point: Point) -> str:
    if point.high is None:
        return "reasoning judge alone"
    return f"none (threshold {point.high:.3f})" if point.low is None else f"{point.low:.3f} to {point.high:.3f}"


def _unit(points: Sequence[Point]) -> str:
    """What costs are counted in."""
    return "calls per response" if points[0].tokens is None else "tokens per response"


def _above(most: float) -> float:
    """The end of an axis that holds `most`: two digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(most)) - 1)
    return math.ceil(round(most / step, 6)) * step
