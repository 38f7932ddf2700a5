"""What a calibration leaves in its folder, and its tables and plots."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from truebench_hf.benchmarks.rubric_eval.calibration.options import CalibrateOptions
from truebench_hf.engine.folder import RunFolder
from truebench_hf.judging.calibrated import as_json
from truebench_hf.metrics.calibration import Calibration
from truebench_hf.metrics.cascade import Point, frontier
from truebench_hf.report.figures import Axis, Figure, Grid, Plot, Series
from truebench_hf.report.study import page
from truebench_hf.report.tables import interval, value

if TYPE_CHECKING:
    from truebench_hf.benchmarks.rubric_eval.calibration.study import Row, Study

_UNSEEN = "Calibrated figures are cross-fitted: each instruction by a fit that has not seen it."


def write_calibration(folder: RunFolder, options: CalibrateOptions, study: Study, rows: Sequence[Row]) -> None:
    """Write `calibration.json` (what other runs read, and every figure), `rows.jsonl` and `report.html`."""
    facts = as_json(study.calibrated, options.prompts) | {
        "kind": options.kind,
        "rows": len(rows),
        "instructions": len({row.instruction_id for row in rows}),
        "before": asdict(study.before),
        "after": asdict(study.after),
        "balanced_accuracy": {name: asdict(score) for name, score in study.agreement.items()},
        "cascade": [asdict(point) for point in study.points],
        "choice": asdict(study.choice) if study.choice else None,
        "provenance": dict(study.provenance),
        "notes": list(study.notes),
    }
    folder.write_lines("rows.jsonl", (json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows))
    title = f"Calibration: {study.calibrated.judge}"
    folder.write_lines("report.html", page(title, study.notes, _facts(study), figures(study), _UNSEEN))
    folder.write_json("calibration.json", facts)


def figures(study: Study) -> list[Figure]:
    """Measures before and after, the fit, the reliability plot with its bins, and the cascades."""
    shown: list[Figure] = [_measures(study), _decisions(study), _fit(study), _reliability(study), _bins(study)]
    return [*shown, *_cascades(study)] if study.points else shown


def _measures(study: Study) -> Grid:
    before, after = study.before, study.after
    rows = (
        ("Brier score", _number(before.brier), _number(after.brier)),
        ("Calibration error (ECE)", _number(before.ece), _number(after.ece)),
        ("Rubrics", str(before.n), str(after.n)),
        ("left out", str(before.left_out), str(after.left_out)),
    )
    return Grid("Probabilities before and after", ("", "as given", "calibrated"), rows, note=_UNSEEN)


def _decisions(study: Study) -> Grid:
    rows = tuple(
        (name, value(score), interval(score), str(score.n), str(score.unscored))
        for name, score in study.agreement.items()
    )
    header = ("Decided by", "balanced accuracy %", "95 % interval", "n", "undecided")
    return Grid("Decisions", header, rows, note="Intervals: bootstrap over instructions.")


def _fit(study: Study) -> Grid:
    fitted, calibrator = study.calibrated, study.calibrated.calibrator
    shown = f"{len(calibrator.knots)} knots"
    if calibrator.kind == "temperature":
        shown = f"temperature {1 / calibrator.slope:.3f}"
    elif calibrator.kind == "platt":
        shown = f"slope {calibrator.slope:.3f}, intercept {calibrator.intercept:.3f}"
    band = f"{fitted.band[0]:.3f} to {fitted.band[1]:.3f}" if fitted.band else "-"
    rows = (("Calibrator", f"{calibrator.kind}: {shown}"), ("Threshold", f"{fitted.threshold:.3f}"), ("Band", band))
    return Grid("What was fitted", ("", "on calibrated probabilities"), rows)


def _reliability(study: Study) -> Plot:
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


def _bins(study: Study) -> Grid:
    pairs = zip(study.before.bins, study.after.bins, strict=True)
    cells = [(f"{b.lower:.1f} to {b.upper:.1f}", b.count, b.share_yes, a.count, a.share_yes) for b, a in pairs]
    header = ("P(yes)", "n as given", "met", "n calibrated", "met")
    rows = tuple((span, str(n), _number(met), str(m), _number(after)) for span, n, met, m, after in cells)
    return Grid("Bins of the reliability plot", header, rows, printed=False)


def _cascades(study: Study) -> list[Figure]:
    edge = frontier(study.points)
    known = [point for point in study.points if point.balanced_accuracy is not None]
    values = [100 * (point.balanced_accuracy or 0) for point in known]
    low, high = (min(values) // 5 * 5, -(-max(values) // 5) * 5) if values else (0, 100)
    series = [
        Series("bands", tuple(map(_dot, (p for p in known if p.low is not None)))),
        Series("thresholds alone", tuple(map(_dot, (p for p in known if p.low is None)))),
        Series("best for its cost", tuple(map(_dot, edge)), joined=True),
    ]
    if study.choice:
        x, y, _, text = _dot(study.choice)
        series.append(Series("cheapest within a point of the best", ((x, y, 0.6, text),)))
    plot = Plot(
        "What a cascade costs",
        tuple(series),
        Axis("rubrics handed on to the reasoning judge, %", 0, 100),
        Axis("balanced accuracy, %", low, high if high > low else low + 5),
        note="Undecided counts as wrong. The reasoning judge's verdicts are those of one pass over all rubrics.",
    )
    header = ("P(yes) handed on", "rubrics %", "calls", "tokens", "balanced accuracy %")
    note = "Each is half a point better than the one above; all of them are in calibration.json."
    grid = Grid("Cascades that nothing cheaper beats", header, tuple(map(_cells, _steps(edge))), note=note)
    return [plot, grid]


def _steps(edge: Sequence[Point]) -> list[Point]:
    """The points of a frontier that are worth a line: half a point better than the last one shown."""
    shown: list[Point] = []
    for point in edge:
        if not shown or (point.balanced_accuracy or 0) >= (shown[-1].balanced_accuracy or 0) + 0.005:
            shown.append(point)
    return shown


def _dot(point: Point) -> tuple[float, float, float, str]:
    _, share, calls, tokens, accuracy = _cells(point)
    shown = f"{_span(point)}, {share} % handed on, {calls} calls, {tokens} tokens, balanced accuracy {accuracy} %"
    return 100 * point.handed_on, 100 * (point.balanced_accuracy or 0), 0.0, shown


def _cells(point: Point) -> tuple[str, ...]:
    accuracy = "-" if point.balanced_accuracy is None else f"{100 * point.balanced_accuracy:.2f}"
    return _span(point), f"{100 * point.handed_on:.1f}", str(point.calls), f"{point.tokens:,.0f}", accuracy


def _span(point: Point) -> str:
    return f"none (threshold {point.high:.3f})" if point.low is None else f"{point.low:.3f} to {point.high:.3f}"


def _facts(study: Study) -> dict[str, str]:
    made = study.provenance
    facts = {
        "Decision judge": made["judge"],
        "Reasoning judge": made.get("cascade_judge"),
        "Data": f"{made['data']} (SHA-256 {made['data_sha256'][:12]})",
        "Versions": ", ".join(f"{name} {version}" for name, version in made["versions"].items()),
    }
    for role, used in made["usage"].items():
        tokens = f"{used['calls']:,} calls, {used['input_tokens']:,} tokens in, {used['output_tokens']:,} out"
        facts[f"Usage of the {role} role"] = tokens
    return {name: str(fact) for name, fact in facts.items() if fact}


def _number(share: float | None) -> str:
    return "-" if share is None else f"{share:.4f}"
