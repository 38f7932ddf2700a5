"""What a calibration finds: the fit, what it is worth on instructions it has not seen, and the price of cascades."""

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
    best_threshold,
    calibration,
    cross_fit,
    cross_labels,
    fit,
)
from truebench_hf.metrics.cascade import First, Point, Second, cheapest, chosen_labels, curve, frontier
from truebench_hf.report.sections import Axis, Plot, Series, percent
from truebench_hf.report.table import Column, Part, Table
from truebench_hf.study.notes import weak_judges
from truebench_hf.types import Label, Score, Usage

if TYPE_CHECKING:
    from truebench_hf.benchmarks.rubric_eval.calibration.study import CalibrateOptions

UNSEEN = "Calibrated figures are cross-fitted: each instruction by a fit that has not seen it."
_CHOSEN = "chosen, on unseen instructions"


@dataclass(frozen=True)
class CalibrationRow:
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
    notes: tuple[str, ...] = ()


def measure(options: CalibrateOptions, rows: Sequence[CalibrationRow], spent: Spent, responses: int) -> Fit:
    """Fit and measure rows of `responses` responses. Raises UserError where no fit exists."""
    raw, gold = [row.probability for row in rows], [row.label for row in rows]
    groups, folds = [row.instruction_id for row in rows], {"folds": options.folds, "seed": options.seed}
    calibrator = fit(options.kind, raw, gold)
    if calibrator is None:
        raise UserError(
            f"--data {options.data}: a calibrator needs probabilities of rubrics that are met and of some that are not"
        )
    unseen = cross_fit(options.kind, raw, gold, groups, **folds)
    best = best_threshold(unseen, gold)
    if best is None:
        raise UserError(f"--data {options.data}: cross-fitting needs labels of both kinds in several instructions")
    rules: dict[str, Sequence[str | None]] = {
        "as given, threshold 0.5": _decide(raw),
        "calibrated, threshold 0.5": _decide(unseen),
        "calibrated, fitted threshold": cross_labels(options.kind, raw, gold, groups, **folds),
    }
    if any(row.call for row in rows):
        rules["reasoning judge"] = [row.second for row in rows]
    second = Second([row.second for row in rows], [row.call for row in rows], spent.second)
    points = curve(unseen, gold, spent.first, second, best.value) if spent.second else ()
    choice, worth = cheapest(points), None
    seems = choice.balanced_accuracy if choice else None
    if choice:
        labels = chosen_labels(options.kind, raw, gold, groups, spent.first, second, **folds)
        worth = label_agreement(gold, labels, groups)["balanced_accuracy_strict"]
        choice = replace(choice, balanced_accuracy=worth.value)
    band = (choice.low, choice.high) if choice and choice.low is not None and choice.high is not None else None
    return Fit(
        Calibrated(options.judge, calibrator, best.value, band, options.cascade_judge or "", options.rules),
        calibration(raw, gold), calibration(unseen, gold),
        {name: label_agreement(gold, labels, groups)["balanced_accuracy"] for name, labels in rules.items()},
        responses, points, choice, worth, _notes(options, rows, calibrator, choice, seems, spent.total),
    )  # fmt: skip


def _decide(shares: Sequence[float | None]) -> list[str | None]:
    return [None if share is None else "yes" if share >= 0.5 else "no" for share in shares]


def _notes(
    options: CalibrateOptions, rows: Sequence[CalibrationRow], calibrator: Calibrator, choice: Point | None, seems: float | None,
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
            f"What is chosen among the cascades has a balanced accuracy of {percent(choice.balanced_accuracy, 1)} % on "
            f"instructions it was not chosen on (nested folds); where it was chosen it seems to have {percent(seems, 1)} %."
        )
    if choice is not None and choice.low is None:
        alone = "a threshold" if choice.high is not None else "the reasoning judge"
        cheaper = "" if choice.high is not None else ", and no cascade that does costs less"
        notes.append(f"No cascade pays here: {alone} alone comes within one point of the best{cheaper}.")
    return tuple(notes)


def result_tables(study: Fit) -> list[Table]:
    """Return all tables of a calibration: probabilities, decisions, bins, and where there are cascades their price."""
    tables = [_probabilities(study), _decisions(study), _bins(study)]
    return [*tables, _best(study), _cascades(study)] if _known(study) else tables


def charts(study: Fit) -> list[Plot]:
    """Return the reliability of the probabilities, and cost against balanced accuracy where there are cascades."""
    return [_reliability(study), *([_price(study)] if _known(study) else [])]


def _known(study: Fit) -> list[Point]:
    return [point for point in study.points if point.balanced_accuracy is not None]


def _probabilities(study: Fit) -> Table:
    rows = [
        {"which": which, "brier": measured.brier, "ece": measured.ece, "n": measured.n, "left_out": measured.left_out}
        for which, measured in (("as given", study.before), ("calibrated", study.after))
    ]
    columns = (
        Column("which", "probabilities"),
        Column("brier", "Brier score", "number", "Mean squared difference of probability and truth.", "", digits=4, lower_is_better=True),
        Column("ece", "ECE", "number", "Expected calibration error over the bins.", "", digits=4, lower_is_better=True),
        Column("n", "rubrics", "count"), Column("left_out", "left out", "count", "Rubrics without a probability."),
    )  # fmt: skip
    return Table("probabilities", columns, rows, "Probabilities before and after", UNSEEN)


def _decisions(study: Fit) -> Table:
    rules = dict(study.agreement)
    if study.worth:
        rules["chosen from the cascades, undecided = wrong"] = study.worth
    rows = [{"rule": name, "balanced_accuracy": score} for name, score in rules.items()]
    parts: tuple[Part, ...] = ("value", "interval", "n", "unscored")
    columns = (
        Column("rule", "Decided by", "prose"),
        Column("balanced_accuracy", "BAcc", "score", parts=parts, drawn=True),
    )
    note = "Balanced accuracy in percent; intervals take the rubrics of an instruction together."
    if study.worth:
        note += " What is chosen is measured in nested folds, on instructions that had no say in the choice."
    return Table("decisions", columns, rows, "Decisions", note)


def fitted_facts(study: Fit) -> dict[str, str]:
    """Return what `calibration.json` holds, in words: calibrator, threshold and band, on calibrated probabilities."""
    fitted, calibrator = study.calibrated, study.calibrated.calibrator
    parameters = {
        "temperature": f"temperature {1 / (calibrator.slope or 1):.3f}",
        "platt": f"slope {calibrator.slope:.3f}, intercept {calibrator.intercept:.3f}",
    }.get(calibrator.kind, f"{len(calibrator.knots)} knots")
    band = f"{fitted.band[0]:.3f} to {fitted.band[1]:.3f}" if fitted.band else ""
    return {"Calibrator": f"{calibrator.kind}: {parameters}", "Threshold": f"{fitted.threshold:.3f}", "Band": band}


def _bins(study: Fit) -> Table:
    rows = [
        {
            "low": before.lower, "n": before.count, "met": before.share_yes, "mean": before.mean_probability,
            "n_calibrated": after.count, "met_calibrated": after.share_yes, "mean_calibrated": after.mean_probability,
        }
        for before, after in zip(study.before.bins, study.after.bins, strict=True)
    ]  # fmt: skip
    columns = (
        Column("low", "P(yes) from", "number", unit="", digits=1),
        *(
            column
            for end, which in (("", "as given"), ("_calibrated", "calibrated"))
            for column in (
                Column(f"n{end}", f"n {which}", "count"), Column(f"mean{end}", "mean P(yes)", "number", unit="", digits=4),
                Column(f"met{end}", "met", "number", "Share of these rubrics that are met."),
            )
        ),
    )  # fmt: skip
    return Table("bins", columns, rows, "Bins of the reliability plot", printed=False)


def _cost_columns(study: Fit) -> tuple[Column, ...]:
    return (
        Column("low", "handed on from", "number", "P(yes) from which rubrics go to the reasoning judge.", "", digits=3),
        Column("high", "to", "number", "P(yes) up to which they go there; of a threshold alone, the threshold.", "", digits=3),
        Column("handed_on", "rubrics handed on", "number", digits=1), Column("calls", "calls", "count", minor=1),
        Column("tokens", "tokens", "number", unit="", digits=0, minor=1),
        Column("cost", _unit(study.points), "number", "Of both judges together.", "", digits=1),
        Column("balanced_accuracy", "BAcc", "number", "Undecided counts as wrong."),
    )  # fmt: skip


def _cost_row(study: Fit, point: Point) -> dict[str, Any]:
    return {**vars(point), "cost": point.cost / study.responses}


def _cascades(study: Fit) -> Table:
    """Every threshold and band, and the reasoning judge alone: for files."""
    rows = [_cost_row(study, point) for point in study.points]
    return Table("cascades", _cost_columns(study), rows, "Cascades", keys=2, printed=False, on_page=False)


def _best(study: Fit) -> Table:
    """Each judge alone, what nothing cheaper beats, and what was chosen."""
    known = _known(study)
    ways = [("decision judge alone", point) for point in _alone(study, known)]
    ways += [("reasoning judge alone", point) for point in known if point.high is None]
    ways += [("best for its cost", point) for point in _steps(frontier(known))]
    if study.choice and study.choice.balanced_accuracy is not None:
        ways.append((_CHOSEN, study.choice))
    note = (
        "Best for its cost: what nothing cheaper beats, each half a point better than the one above. They look better here "
        "than on new data, since they were picked on these rows; what is chosen, the cheapest within a point of the best, is "
        "measured on instructions it was not picked on."
    )
    rows = [{"way": way, **_cost_row(study, point)} for way, point in ways]
    return Table(
        "costs", (Column("way", ""), *_cost_columns(study)), rows, "What a cascade costs: the best", note, keys=3
    )


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
    most = max((entry.count for entry in measured.bins), default=0) or 1
    points = tuple(
        (entry.mean_probability, entry.share_yes, entry.count / most, f"{entry.count} rubrics")
        for entry in measured.bins
        if entry.mean_probability is not None and entry.share_yes is not None
    )
    return Series(name, points, joined=True)


def _price(study: Fit) -> Plot:
    known = _known(study)
    groups = {
        "bands": [point for point in known if point.low is not None],
        "thresholds alone": [point for point in known if point.low is None and point.high is not None],
        "best for its cost": frontier(known),
        "decision judge alone": _alone(study, known),
        "reasoning judge alone": [point for point in known if point.high is None],
        _CHOSEN: [study.choice] if study.choice and study.choice.balanced_accuracy is not None else [],
    }
    weights = dict.fromkeys([*groups][:3], 0.0)
    series = [
        Series(name, tuple(_dot(study, point, weights.get(name, 0.6)) for point in points), name == "best for its cost")
        for name, points in groups.items()
        if points
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


def _dot(study: Fit, point: Point, weight: float) -> tuple[float, float, float, str]:
    span = (
        ""
        if point.high is None
        else f"{point.high:.3f}, "
        if point.low is None
        else f"{point.low:.3f} to {point.high:.3f}, "
    )
    accuracy = percent(point.balanced_accuracy)
    text = f"{span}{percent(point.handed_on, 1)} % handed on, {point.calls} calls, balanced accuracy {accuracy} %"
    return point.cost / study.responses, 100 * (point.balanced_accuracy or 0), weight, text


def _alone(study: Fit, known: Sequence[Point]) -> list[Point]:
    """The decision judge alone, at the fitted threshold."""
    return [point for point in known if point.low is None and point.high == study.calibrated.threshold]


def _steps(edge: Sequence[Point]) -> list[Point]:
    """The points of a frontier that are worth a line: half a point better than the last one shown."""
    kept: list[Point] = []
    for point in edge:
        if not kept or (point.balanced_accuracy or 0) >= (kept[-1].balanced_accuracy or 0) + 0.005:
            kept.append(point)
    return kept


def _unit(points: Sequence[Point]) -> str:
    """What costs are counted in."""
    return "calls per response" if points[0].tokens is None else "tokens per response"


def _above(most: float) -> float:
    """The end of an axis that holds `most`: two digits, rounded up."""
    step = 10.0 ** (math.floor(math.log10(most)) - 1)
    return math.ceil(round(most / step, 6)) * step
