"""What a correlation shows: the coefficients with the paper's, the models far off the line, scatter plots, who is missing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace

from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.comparing.correlate import FAR, Correlated, Pairing, as_json
from truebench_hf.metrics.intervals import MIN_CLUSTERS
from truebench_hf.report.csv_cells import guard
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Axis, Cells, Grid, Plot, Section, Series, fixed, p_value

_PLOTS = 12
_PRINTED = ("Hard", "Soft (criterion)", "Soft (turn)")


def sections(found: Correlated) -> list[Section]:
    """Everything a correlation shows, in order; shares in percent."""
    found = replace(found, pairings=tuple(_in_percent(found, one) for one in found.pairings))
    drawn = [one for one in found.pairings if one.agreement.n > 1][:_PLOTS]
    return [_coefficients(found), *_far(found), *map(_plot, drawn), *_missing(found)]


def _in_percent(found: Correlated, one: Pairing) -> Pairing:
    """A pairing as it is read: scores that are shares, and the line through them, in percent."""
    x, y = (
        100 if name in of.shares else 1 for name, of in ((one.other, found.others), (one.column, found.scores))
    )  # fmt: skip
    points = tuple(
        replace(point, x=x * point.x, y=y * point.y, expected=None if point.expected is None else y * point.expected)
        for point in one.points
    )
    slope, start = one.slope, one.intercept
    return replace(
        one, points=points, slope=None if slope is None else slope * y / x,
        intercept=None if start is None else y * start,
    )  # fmt: skip


def title(found: Correlated) -> str:
    """What is held against what."""
    return f"{found.scores.where} against {found.others.where}"


def notes(found: Correlated) -> list[str]:
    """What a reader has to know."""
    said = [*found.scores.notes, *found.others.notes]
    few = [one for one in found.pairings if one.agreement.n < MIN_CLUSTERS]
    if few:
        said.append(
            f"With fewer than {MIN_CLUSTERS} models in common ({few[0].agreement.n} here) there are no intervals."
        )
    if len(found.pairings) > _PLOTS:
        said.append(f"The first {_PLOTS} of {len(found.pairings)} pairs are drawn; name columns to choose others.")
    return said


def files(found: Correlated) -> dict[str, str]:
    """The files beside the page, by name."""
    told = json.dumps(as_json(found), ensure_ascii=False, indent=1) + "\n"
    return {"correlate.json": told, "models.csv": _csv(found)}


def _coefficients(found: Correlated) -> Grid:
    header = (
        "held against",
        "scores",
        "n",
        "Spearman",
        "95 % interval",
        "Kendall",
        "95 % interval",
        "R squared",
        "slope",
    )
    rows = tuple(
        (
            one.other, one.column, one.agreement.n,
            fixed(one.agreement.spearman.value, 3), _span(one.agreement.spearman_interval),
            fixed(one.agreement.kendall.value, 3), _span(one.agreement.kendall_interval),
            fixed(one.r2, 3), fixed(one.slope, 3),
        )
        for one in found.pairings
    )  # fmt: skip
    note = (
        "Over the models that both have. Intervals: percentile bootstrap over models. The line is that of our scores on the "
        "others."
    )
    paper: tuple[Cells, ...] = ()
    if found.scores.truebench:
        paper = tuple(
            (row["Benchmark"], name.lower(), row["N"], f"{row[name]:.4f}", "", "", "", "", "")
            for row in paper_rows(TRUEBENCH, "truebench_table7")
            for name in _PRINTED
        )
        note += " The paper (Table 7) does not say which coefficient its own are."
    return Grid("Agreement of rankings", header, rows, paper, note)


def _far(found: Correlated) -> Iterator[Grid]:
    header = ("model", "held against", "scores", "theirs", "ours", "line", "off by", "p", "rank theirs", "rank ours")
    rows = tuple(
        (
            point.model, one.other, one.column, f"{point.x:g}", f"{point.y:.2f}", fixed(point.expected),
            f"{point.y - (point.expected or 0):+.2f}", p_value(point.p_value) or "-", point.rank_x, point.rank_y,
        )
        for one in found.pairings
        for point in sorted(one.points, key=lambda point: point.p_value if point.p_value is not None else 1.0)
        if point.far
    )  # fmt: skip
    if rows:
        note = f"Farther from the line through all other models than chance puts {FAR:.0%} of them."
        yield Grid("Far off the line", header, rows, note=note)


def _plot(one: Pairing) -> Plot:
    near, far = (
        tuple((p.x, p.y, 0.25, f"{p.model}: {p.x:g}, {p.y:g}") for p in one.points if p.far is side)
        for side in (False, True)
    )
    xs, ys = [point.x for point in one.points], [point.y for point in one.points]
    across = _axis(one.other, xs)
    series = [Series("models", near), *([Series("far off the line", far)] if far else [])]
    if one.slope is not None and one.intercept is not None:
        slope, start = one.slope, one.intercept
        ends = tuple((x, start + slope * x, 0.0, f"{start + slope * x:.2f}") for x in (min(xs), max(xs)))
        series.append(Series("least squares", ends, joined=True))
        ys += [y for _, y, _, _ in ends]
    return Plot(f"{one.column} against {one.other}", tuple(series), across, _axis(one.column, ys))


def _axis(label: str, values: list[float]) -> Axis:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    margin = 0.05 * (high - low) or 1.0
    return Axis(label, low - margin, high + margin)


def _missing(found: Correlated) -> Iterator[Grid]:
    """Who is in one of the two alone, and whose name the other has in another spelling."""
    sides = (found.scores.where, found.others.where)
    rows: dict[tuple[str, str], list[str]] = {}
    for one in found.pairings:
        folded = [{point.casefold(): point for point in only} for only in one.only]
        for side in (0, 1):
            for name in one.only[side]:
                alike = folded[1 - side].get(name.casefold())
                rows.setdefault((name, sides[side]), [alike or ""])
    if rows:
        shown = tuple((name, where, alike) for (name, where), (alike,) in rows.items())
        note = (
            "Names are compared exactly, without who provides the model. The last column only points at another case."
        )
        yield Grid(f"Not in common: {len(shown)}", ("model", "only in", "there is also"), shown, note=note)


def _csv(found: Correlated) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("with", "column", "model", "x", "y", "expected", "p_value", "rank_x", "rank_y"))
    for one in found.pairings:
        for point in one.points:
            cells = (
                one.other, one.column, point.model, point.x, point.y, point.expected, point.p_value, point.rank_x,
                point.rank_y,
            )  # fmt: skip
            writer.writerow(f"{cell:.10g}" if isinstance(cell, float) else guard(cell) for cell in cells)
    return out.getvalue()


def _span(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{ends[0]:.2f} to {ends[1]:.2f}"
