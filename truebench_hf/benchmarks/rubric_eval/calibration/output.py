"""What a calibration leaves in its folder, and its tables and plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.rubric_eval.calibration.prices import price_figures
from truebench_hf.judging.calibrated import as_json
from truebench_hf.metrics.calibration import Calibration
from truebench_hf.report.sections import Axis, Grid, Plot, Section, Series
from truebench_hf.report.tables import interval, value

if TYPE_CHECKING:
    from truebench_hf.benchmarks.rubric_eval.calibration.measures import Fit, Row
    from truebench_hf.benchmarks.rubric_eval.calibration.study import CalibrateOptions

UNSEEN = "Calibrated figures are cross-fitted: each instruction by a fit that has not seen it."


def content(options: CalibrateOptions, study: Fit, rows: Sequence[Row]) -> dict[str, Any]:
    """The content of `calibration.json`: what other runs read, and every figure."""
    return as_json(study.calibrated, options.prompts) | {
        "kind": options.kind,
        "rows": len(rows),
        "instructions": len({row.instruction_id for row in rows}),
        "before": asdict(study.before),
        "after": asdict(study.after),
        "balanced_accuracy": {name: asdict(score) for name, score in study.agreement.items()},
        "cascade": [asdict(point) for point in study.points],
        "choice": asdict(study.choice) if study.choice else None,
        "choice_balanced_accuracy": asdict(study.worth) if study.worth else None,
        "provenance": dict(study.provenance),
        "notes": list(study.notes),
    }


def figures(study: Fit) -> list[Section]:
    """Measures before and after, the fit, the reliability plot with its bins, and the cascades."""
    shown: list[Section] = [_measures(study), _decisions(study), _fit(study), _reliability(study), _bins(study)]
    return [*shown, *price_figures(study)]


def _measures(study: Fit) -> Grid:
    before, after = study.before, study.after
    rows = (
        ("Brier score", _number(before.brier), _number(after.brier)),
        ("Calibration error (ECE)", _number(before.ece), _number(after.ece)),
        ("Rubrics", str(before.n), str(after.n)),
        ("left out", str(before.left_out), str(after.left_out)),
    )
    return Grid("Probabilities before and after", ("", "as given", "calibrated"), rows, note=UNSEEN)


def _decisions(study: Fit) -> Grid:
    ways = dict(study.agreement)
    if study.worth:
        ways["chosen from the cascades, undecided = wrong"] = study.worth
    rows = tuple(
        (name, value(score), interval(score), str(score.n), str(score.unscored)) for name, score in ways.items()
    )
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
    return Grid("What was fitted", ("", "on calibrated probabilities"), rows)


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
    rows = tuple((span, str(n), _number(met), str(m), _number(after)) for span, n, met, m, after in cells)
    return Grid("Bins of the reliability plot", header, rows, printed=False)


def _number(share: float | None) -> str:
    return "-" if share is None else f"{share:.4f}"
