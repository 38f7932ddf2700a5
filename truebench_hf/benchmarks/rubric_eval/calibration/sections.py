"""What a calibration shows: measures before and after, the fit, the reliability plot with its bins, and the cascades."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.calibration.measures import Fit
from truebench_hf.benchmarks.rubric_eval.calibration.prices import price_sections
from truebench_hf.metrics.calibration import Calibration
from truebench_hf.report.sections import Axis, Grid, Plot, Section, Series, fixed, interval, value

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
    ways = dict(study.agreement)
    if study.worth:
        ways["chosen from the cascades, undecided = wrong"] = study.worth
    rows = tuple((name, value(score), interval(score), score.n, score.unscored) for name, score in ways.items())
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
