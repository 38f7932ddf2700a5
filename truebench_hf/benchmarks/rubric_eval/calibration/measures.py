"""What a calibration finds: the fit, what it is worth on instructions it has not seen, and the price of cascades."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from truebench_hf.errors import UserError
from truebench_hf.judging.calibrated import Calibrated
from truebench_hf.metrics import calibration as fits
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.choosing import First, Point, Second, cheapest, chosen_labels, curve, frontier
from truebench_hf.report.sections import Axis, Plot, Series, percent
from truebench_hf.report.table import Column, Table
from truebench_hf.study.notes import weak_judges
from truebench_hf.types import Label, Score

if TYPE_CHECKING:
    from truebench_hf.benchmarks.rubric_eval.calibration.study import CalibrateOptions


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
class Fit:
    """A finished calibration.

    `before` and `after` measure probabilities as given and as calibrated (by a fit that has not seen the instruction);
    `agreement` has the balanced accuracy of each decision rule, over `responses`. `points` are the cascades
    of the two judges, measured on the rows they would be chosen on, and `choice` the cheapest good one; without a
    reasoning judge there are none. The balanced accuracy of `choice` is that of `worth`: undecided = wrong,
    of choices that were made without the instructions they are measured on (nested folds).
    """

    calibrated: Calibrated
    before: fits.Calibration
    after: fits.Calibration
    agreement: Mapping[str, Score]
    responses: int
    points: tuple[Point, ...] = ()
    choice: Point | None = None
    worth: Score | None = None
    notes: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        """What costs are counted in."""
        return "calls per response" if self.points[0].tokens is None else "tokens per response"

    @property
    def marked(self) -> dict[str, list[Point]]:
        """The points to look at: each judge alone, the decision judge at the fitted threshold, and what was chosen."""
        threshold = self.calibrated.threshold
        return {
            "decision judge alone": [p for p in self.points if p.low is None and p.high == threshold],
            "reasoning judge alone": [p for p in self.points if p.high is None],
            "chosen, on unseen instructions": [self.choice] if self.choice else [],
        }


def measure(
    options: CalibrateOptions, rows: Sequence[CalibrationRow], first: First, tokens: Mapping[str, float], responses: int
) -> Fit:
    """Fit and measure rows of `responses` responses. Raises UserError where no fit exists.

    The decision judge spent `first` on all rows, the reasoning judge these `tokens` by call.
    """
    raw, gold = [row.probability for row in rows], [row.label for row in rows]
    groups, folds = [row.instruction_id for row in rows], {"folds": options.folds, "seed": options.seed}
    calibrator = fits.fit(options.kind, raw, gold)
    if calibrator is None:
        raise UserError(
            f"--data {options.data}: a calibrator needs probabilities of rubrics that are met and of some that are not"
        )
    unseen, decided = fits.cross_fit(options.kind, raw, gold, groups, **folds)
    best = fits.best_threshold(unseen, gold)
    if best is None:
        raise UserError(f"--data {options.data}: cross-fitting needs labels of both kinds in several instructions")
    rules: dict[str, Sequence[str | None]] = {
        f"{name}, threshold 0.5": [None if share is None else "yes" if share >= 0.5 else "no" for share in shares]
        for name, shares in (("as given", raw), ("calibrated", unseen))
    }
    rules["calibrated, fitted threshold"] = decided
    if any(row.call for row in rows):
        rules["reasoning judge"] = [row.second for row in rows]
    second = Second([row.second for row in rows], [row.call for row in rows], tokens)
    points = curve(unseen, gold, first, second, best[0]) if tokens else ()
    seems, choice, worth = cheapest(points), None, None
    if seems:
        labels = chosen_labels(options.kind, raw, gold, groups, first, second, **folds)
        worth = label_agreement(gold, labels, groups)["balanced_accuracy_strict"]
        choice = replace(seems, balanced_accuracy=worth.value)
    band = (seems.low, seems.high) if seems and seems.low is not None and seems.high is not None else None
    return Fit(
        Calibrated(options.judge, calibrator, best[0], band, options.cascade_judge or "", options.rules),
        fits.calibration(raw, gold), fits.calibration(unseen, gold),
        {name: label_agreement(gold, labels, groups)["balanced_accuracy"] for name, labels in rules.items()},
        responses, points, choice, worth, _notes(options, rows, calibrator, seems, worth),
    )  # fmt: skip


def _notes(
    options: CalibrateOptions, rows: Sequence[CalibrationRow], calibrator: fits.Calibrator, seems: Point | None, worth: Score | None
) -> tuple[str, ...]:  # fmt: skip
    notes = []
    if calibrator.slope < 0:
        notes.append("The fit turns the judge around: the more it believes a rubric met, the less often it is.")
    if missing := [row.reason for row in rows if row.probability is None]:
        notes.append(f"{len(missing)} of {len(rows)} rubrics have no probability and are left out: {missing[0]}")
    notes += weak_judges([options.judge])
    if options.kind == "isotonic" and len(rows) < 300:
        notes.append(f"An isotonic fit wants some hundred rows; there are {len(rows)}.")
    if seems and worth:
        notes.append(
            f"What is chosen among the cascades has a balanced accuracy of {percent(worth.value, 1)} % on "
            "instructions it was not chosen on (nested folds); where it was chosen it seems to have "
            f"{percent(seems.balanced_accuracy, 1)} %."
        )
    if seems and seems.low is None:
        alone = "a threshold" if seems.high is not None else "the reasoning judge"
        cheaper = "" if seems.high is not None else ", and no cascade that does costs less"
        notes.append(f"No cascade pays here: {alone} alone comes within one point of the best{cheaper}.")
    return tuple(notes)


def fitted_facts(study: Fit) -> dict[str, str]:
    """Return what `calibration.json` holds, in words: calibrator, threshold and band, on calibrated probabilities."""
    fitted, calibrator = study.calibrated, study.calibrated.calibrator
    parameters = {
        "temperature": f"temperature {1 / (calibrator.slope or 1):.3f}",
        "platt": f"slope {calibrator.slope:.3f}, intercept {calibrator.intercept:.3f}",
    }.get(calibrator.kind, f"{len(calibrator.knots)} knots")
    band = f"{fitted.band[0]:.3f} to {fitted.band[1]:.3f}" if fitted.band else ""
    return {"Calibrator": f"{calibrator.kind}: {parameters}", "Threshold": f"{fitted.threshold:.3f}", "Band": band}


def result_tables(study: Fit) -> list[Table]:
    """Return all tables of a calibration: probabilities, decisions, bins, and where there are cascades their price."""
    columns = (
        Column("which", "probabilities"),
        Column("brier", "Brier score", "number", "Mean squared difference of probability and truth.", "", digits=4, lower_is_better=True),
        Column("ece", "ECE", "number", "Expected calibration error over the bins.", "", digits=4, lower_is_better=True),
        Column("n", "rubrics", "count"), Column("left_out", "left out", "count", "Rubrics without a probability."),
    )  # fmt: skip
    rows = [{"which": which, **vars(measured)} for which, measured in (("as given", study.before), ("calibrated", study.after))]  # fmt: skip
    unseen = "Calibrated figures are cross-fitted: each instruction by a fit that has not seen it."
    tables = [
        Table("probabilities", columns, rows, "Probabilities before and after", unseen), _decisions(study), _bins(study)
    ]  # fmt: skip
    return [*tables, *_costs(study)] if study.points else tables


def _decisions(study: Fit) -> Table:
    rules = dict(study.agreement)
    note = "Balanced accuracy in percent; intervals take the rubrics of an instruction together."
    if study.worth:
        rules["chosen from the cascades, undecided = wrong"] = study.worth
        note += " What is chosen is measured in nested folds, on instructions that had no say in the choice."
    columns = (
        Column("rule", "Decided by", "prose"),
        Column("balanced_accuracy", "BAcc", "score", parts=("value", "interval", "n", "unscored"), drawn=True),
    )
    rows = [{"rule": name, "balanced_accuracy": score} for name, score in rules.items()]
    return Table("decisions", columns, rows, "Decisions", note)


def _bins(study: Fit) -> Table:
    rows = [
        {
            "low": before.lower, "n": before.count, "met": before.share_yes, "mean": before.mean_probability,
            "n_calibrated": after.count, "met_calibrated": after.share_yes, "mean_calibrated": after.mean_probability,
        }
        for before, after in zip(study.before.bins, study.after.bins, strict=True)
    ]  # fmt: skip
    columns = [Column("low", "P(yes) from", "number", unit="", digits=1)]
    for end, which in (("", "as given"), ("_calibrated", "calibrated")):
        columns += [
            Column(f"n{end}", f"n {which}", "count"), Column(f"mean{end}", "mean P(yes)", "number", unit="", digits=4),
            Column(f"met{end}", "met", "number", "Share of these rubrics that are met."),
        ]  # fmt: skip
    return Table("bins", columns, rows, "Bins of the reliability plot", printed=False)


def _costs(study: Fit) -> list[Table]:
    """Each judge alone, what nothing cheaper beats, and what was chosen; and for files every cascade."""
    columns = (
        Column("low", "handed on from", "number", "P(yes) from which rubrics go to the reasoning judge.", "", digits=3),
        Column("high", "to", "number", "P(yes) up to which they go there; of a threshold alone, the threshold.", "", digits=3),
        Column("handed_on", "rubrics handed on", "number", digits=1), Column("calls", "calls", "count", minor=1),
        Column("tokens", "tokens", "number", unit="", digits=0, minor=1),
        Column("cost", study.unit, "number", "Of both judges together.", "", digits=1),
        Column("balanced_accuracy", "BAcc", "number", "Undecided counts as wrong."),
    )  # fmt: skip
    note = (
        "Best for its cost: what nothing cheaper beats, each half a point better than the one above. They look better here "
        "than on new data, since they were picked on these rows; what is chosen, the cheapest within a point of the best, is "
        "measured on instructions it was not picked on."
    )
    steps: list[Point] = []
    for point in frontier(study.points):
        if not steps or (point.balanced_accuracy or 0) >= (steps[-1].balanced_accuracy or 0) + 0.005:
            steps.append(point)
    *alone, chosen = study.marked.items()
    rows = [
        {"way": way, **vars(point), "cost": point.cost / study.responses}
        for way, points in (*alone, ("best for its cost", steps), chosen)
        for point in points
    ]
    cascades = [{**vars(point), "cost": point.cost / study.responses} for point in study.points]
    return [
        Table("costs", (Column("way", ""), *columns), rows, "What a cascade costs: the best", note, keys=3),
        Table("cascades", columns, cascades, "Cascades", keys=2, printed=False, on_page=False),
    ]


def charts(study: Fit) -> list[Plot]:
    """Return the reliability of the probabilities, and cost against balanced accuracy where there are cascades."""
    series = []
    for name, measured in (("as given", study.before), ("calibrated", study.after)):
        most = max((entry.count for entry in measured.bins), default=0) or 1
        points = tuple(
            (entry.mean_probability, entry.share_yes, entry.count / most, f"{entry.count} rubrics")
            for entry in measured.bins
            if entry.mean_probability is not None and entry.share_yes is not None
        )
        series.append(Series(name, points, joined=True))
    reliability = Plot(
        "Reliability", tuple(series), Axis("P(yes) the judge gives, mean of a bin", 0, 1), Axis("share that is met", 0, 1),
        diagonal=True,
        note="On the dashed line a probability means what it says; the size of a dot shows how many rubrics are in it.",
    )  # fmt: skip
    return [reliability, *([_price(study)] if study.points else [])]


def _price(study: Fit) -> Plot:
    groups = {
        "bands": [point for point in study.points if point.low is not None],
        "thresholds alone": [point for point in study.points if point.low is None and point.high is not None],
        "best for its cost": frontier(study.points),
        **study.marked,
    }
    series = []
    for name, points in groups.items():
        dots = tuple(_dot(study, point, 0.6 if name in study.marked else 0.0) for point in points)
        series += [Series(name, dots, name == "best for its cost")] if dots else []
    shares = [100 * (point.balanced_accuracy or 0) for group in groups.values() for point in group]
    low, high = min(shares) // 5 * 5, -(-max(shares) // 5) * 5
    most = max(point.cost for point in study.points) / study.responses
    step = 10.0 ** (math.floor(math.log10(most)) - 1)  # the axis ends at two digits, rounded up
    return Plot(
        "What a cascade costs",
        tuple(series),
        Axis(f"{study.unit}, both judges together", 0, math.ceil(round(most / step, 6)) * step),
        Axis("balanced accuracy, %", low, high if high > low else low + 5),
        note="Undecided counts as wrong. Every point is measured on the rows it would be chosen on, but the chosen one "
        "on unseen instructions. The reasoning judge's verdicts are those of one pass over all rubrics."
        + (" A judge reports no tokens, so calls are counted." if study.points[0].tokens is None else ""),
    )


def _dot(study: Fit, point: Point, weight: float) -> tuple[float, float, float, str]:
    ends = [f"{end:.3f}" for end in (point.low, point.high) if end is not None]
    span = f"{' to '.join(ends)}, " if ends else ""
    accuracy = percent(point.balanced_accuracy)
    text = f"{span}{percent(point.handed_on, 1)} % handed on, {point.calls} calls, balanced accuracy {accuracy} %"
    return point.cost / study.responses, 100 * (point.balanced_accuracy or 0), weight, text
