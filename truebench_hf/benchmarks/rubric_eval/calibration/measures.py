"""What a calibration finds and shows: the fit, what it is worth on instructions it has not seen, and the price of cascades."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from truebench_hf.errors import UserError
from truebench_hf.judging.calibrated import Calibrated
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.calibration import (
    Calibration,
    Calibrator,
    Threshold,
    best_threshold,
    calibration,
    cross_fit,
    cross_labels,
    fit,
)
from truebench_hf.metrics.cascade import First, Point, Second, cheapest, chosen_labels, curve, frontier
from truebench_hf.report.sections import Axis, Grid, Plot, Section, Series, fixed, interval, value
from truebench_hf.study.notes import weak_judges
from truebench_hf.types import Label, Score, Usage

if TYPE_CHECKING:
    from truebench_hf.benchmarks.rubric_eval.calibration.study import CalibrateOptions

UNSEEN = "Calibrated figures are cross-fitted: each instruction by a fit that has not seen it."
_CHOSEN = "chosen, on unseen instructions"


@dataclass(frozen=True)
class Row:
    """One labelled rubric: what the decision judge said of it, and what the reasoning judge did, in which call."""

    id: str
    instruction_id: str
    label: Label
    probability: float | None
    reason: str
    second: Label | None = None
    call: str = ""


@dataclass(frozen=True)
class Spent:
    """What judging took: the decision judge on all rows, the reasoning judge in tokens by call, and both in all."""

    first: First
    second: Mapping[str, float]
    total: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Fit:
    """A finished calibration.

    `before` and `after` measure probabilities as given and as calibrated (by a fit that has not seen the instruction);
    `agreement` has the balanced accuracy of each decision rule, over `responses`. `points` are the cascades
    of the two judges, measured on the rows they would be chosen on, and `choice` the cheapest good one; without a
    reasoning judge there are none. The balanced accuracy of `choice` is that of `worth`: undecided = wrong,
    of choices that were made without the instructions they are measured on (nested folds).
    """

    calibrated: Calibrated
    before: Calibration
    after: Calibration
    agreement: Mapping[str, Score]
    responses: int
    points: tuple[Point, ...] = ()
    choice: Point | None = None
    worth: Score | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def measure(
    options: CalibrateOptions, rows: Sequence[Row], spent: Spent, responses: int, provenance: Mapping[str, Any]
) -> Fit:
    """Fit and measure rows of `responses` responses. Raises UserError where no fit exists."""
    raw, gold, _ = _columns(rows)
    calibrator, best, fair = crossed(options, rows)
    second = Second([row.second for row in rows], [row.call for row in rows], spent.second)
    points = curve(fair, gold, spent.first, second, best.value) if spent.second else ()
    choice = cheapest(points)
    worth = _worth(options, rows, spent.first, second) if choice else None
    seems = choice.balanced_accuracy if choice else None
    if choice and worth:
        choice = replace(choice, balanced_accuracy=worth.value)
    band = (choice.low, choice.high) if choice and choice.low is not None and choice.high is not None else None
    return Fit(
        Calibrated(options.judge, calibrator, best.value, band, options.cascade_judge or "", options.rules),
        calibration(raw, gold),
        calibration(fair, gold),
        agreement(options, rows, fair),
        responses,
        points,
        choice,
        worth,
        provenance,
        _notes(options, rows, calibrator, choice, seems, spent.total),
    )


def crossed(options: CalibrateOptions, rows: Sequence[Row]) -> tuple[Calibrator, Threshold, tuple[float | None, ...]]:
    """(calibrator, best threshold, calibrated probability of each row by a fit that has not seen its instruction).

    Raises UserError where no fit exists.
    """
    raw, gold, groups = _columns(rows)
    calibrator = fit(options.kind, raw, gold)
    if calibrator is None:
        raise UserError(
            f"--data {options.data}: a calibrator needs probabilities of rubrics that are met and of some that are not"
        )
    fair = cross_fit(options.kind, raw, gold, groups, folds=options.folds, seed=options.seed)
    best = best_threshold(fair, gold)
    if best is None:
        raise UserError(f"--data {options.data}: cross-fitting needs labels of both kinds in several instructions")
    return calibrator, best, fair


def _columns(rows: Sequence[Row]) -> tuple[list[float | None], list[Label], list[str]]:
    """(probabilities, labels, instructions) of the rows."""
    return [row.probability for row in rows], [row.label for row in rows], [row.instruction_id for row in rows]


def _worth(options: CalibrateOptions, rows: Sequence[Row], first: First, second: Second) -> Score:
    raw, gold, groups = _columns(rows)
    labels = chosen_labels(options.kind, raw, gold, groups, first, second, folds=options.folds, seed=options.seed)
    worth: Score = label_agreement(gold, labels, groups)["balanced_accuracy_strict"]
    return worth


def agreement(options: CalibrateOptions, rows: Sequence[Row], fair: Sequence[float | None]) -> dict[str, Score]:
    """Balanced accuracy of each decision rule; `fair` are the cross-fitted probabilities."""
    raw, gold, groups = _columns(rows)
    fitted = cross_labels(options.kind, raw, gold, groups, folds=options.folds, seed=options.seed)
    rules: dict[str, Sequence[str | None]] = {
        "as given, threshold 0.5": _decide(raw),
        "calibrated, threshold 0.5": _decide(fair),
        "calibrated, fitted threshold": fitted,
    }
    if any(row.call for row in rows):
        rules["reasoning judge"] = [row.second for row in rows]
    return {name: label_agreement(gold, labels, groups)["balanced_accuracy"] for name, labels in rules.items()}


def _decide(shares: Sequence[float | None]) -> list[str | None]:
    return [None if share is None else "yes" if share >= 0.5 else "no" for share in shares]


def _notes(
    options: CalibrateOptions, rows: Sequence[Row], calibrator: Calibrator, choice: Point | None, seems: float | None,
    total: Usage,
) -> tuple[str, ...]:  # fmt: skip
    notes = [f"Costs in tokens are too low: {total}."] if total.unknown_calls else []
    if calibrator.slope < 0:
        notes.append("The fit turns the judge around: the more it believes a rubric met, the less often it is.")
    missing = [row.reason for row in rows if row.probability is None]
    if missing:
        notes.append(f"{len(missing)} of {len(rows)} rubrics have no probability and are left out: {missing[0]}")
    notes += weak_judges([options.judge])
    if options.kind == "isotonic" and len(rows) < 300:
        notes.append(f"An isotonic fit wants some hundred rows; there are {len(rows)}.")
    if choice is not None and choice.balanced_accuracy is not None and seems is not None:
        notes.append(
            f"What is chosen among the cascades has a balanced accuracy of {100 * choice.balanced_accuracy:.1f} % on "
            f"instructions it was not chosen on (nested folds); where it was chosen it seems to have {100 * seems:.1f} %."
        )
    if choice is not None and choice.low is None:
        alone = "a threshold" if choice.high is not None else "the reasoning judge"
        cheaper = "" if choice.high is not None else ", and no cascade that does costs less"
        notes.append(f"No cascade pays here: {alone} alone comes within one point of the best{cheaper}.")
    return tuple(notes)


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
    return [_plot(study, known), _table(study, known)] if known else []


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
    kept: list[Point] = []
    for point in edge:
        if not kept or (point.balanced_accuracy or 0) >= (kept[-1].balanced_accuracy or 0) + 0.005:
            kept.append(point)
    return kept


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
