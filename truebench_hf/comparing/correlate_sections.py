"""What a correlation shows: the coefficients with the paper's, the models far off the line, scatter plots, who is missing."""

from __future__ import annotations

import json
from typing import Any

from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.comparing.correlate import FAR, Correlated, Pairing
from truebench_hf.metrics.intervals import MIN_CLUSTERS
from truebench_hf.report.paper import paper_rows
from truebench_hf.report.sections import Axis, Plot, Section, Series
from truebench_hf.report.table import PUBLISHED, Column, Table
from truebench_hf.types import Score

_PLOTS = 12
_PRINTED = ("Hard", "Soft (criterion)", "Soft (turn)")
_PAIR = (Column("with", "held against"), Column("column", "scores"))
_COEFFICIENTS = (
    *_PAIR,
    Column("n", "n", "count", "Models that have both."),
    Column("spearman", "Spearman", "score", unit="", digits=4, parts=("value", "interval")),
    Column("kendall", "Kendall", "score", unit="", digits=4, parts=("value", "interval")),
    Column("r2", "R squared", "number", "Of the least-squares line of ours on theirs.", unit="", digits=3, minor=1),
    Column("slope", "slope", "number", unit="", digits=3, minor=1),
)
_MODELS = (
    Column("model", "model"),
    *_PAIR,
    Column("x", "theirs", "number", unit=""),
    Column("y", "ours", "number", unit=""),
    Column("expected", "line", "number", "Ours, as the line has it.", unit=""),
    Column("p_value", "p", "p_value", "How often chance puts a model as far from the line through all others."),
    Column("rank_x", "rank theirs", "count"),
    Column("rank_y", "rank ours", "count"),
)


def sections(found: Correlated) -> list[Section]:
    """Everything a correlation shows, in order; shares in percent."""
    drawn = [pairing for pairing in found.pairings if pairing.agreement.n > 1][:_PLOTS]
    far = models(found, far=True, percent=True)
    return [
        coefficients(found, percent=True),
        *([far] if far.rows else []),
        *(_plot(pairing, *_factors(found, pairing)) for pairing in drawn),
        *_missing(found),
    ]


def title(found: Correlated) -> str:
    """What is held against what."""
    return f"{found.scores.where} against {found.others.where}"


def notes(found: Correlated) -> list[str]:
    """What a reader has to know."""
    told = [*found.scores.notes, *found.others.notes]
    few = [pairing for pairing in found.pairings if pairing.agreement.n < MIN_CLUSTERS]
    if few:
        told.append(
            f"With fewer than {MIN_CLUSTERS} models in common ({few[0].agreement.n} here) there are no intervals."
        )
    if len(found.pairings) > _PLOTS:
        told.append(f"The first {_PLOTS} of {len(found.pairings)} pairs are drawn; name columns to choose others.")
    return told


def files(found: Correlated) -> dict[str, str]:
    """The files beside the page, by name; shares are 0 to 1 there."""
    tables = (coefficients(found), models(found))
    content = {"scores": found.scores.where, "with": found.others.where, **{t.name: t.records() for t in tables}}
    content["only"] = [
        {"with": pairing.other, "column": pairing.column, "scores": pairing.only[0], "others": pairing.only[1]}
        for pairing in found.pairings
    ]
    return {
        "correlate.json": json.dumps(content, ensure_ascii=False, indent=1) + "\n",
        "models.csv": models(found).to_csv(),
    }


def coefficients(found: Correlated, *, percent: bool = False) -> Table:
    """The agreement of every two columns; `percent` scales the slope to shares in percent."""
    rows: list[dict[str, Any]] = []
    for pairing in found.pairings:
        x, y = _factors(found, pairing) if percent else (1, 1)
        agreement = pairing.agreement
        row = {"with": pairing.other, "column": pairing.column, "n": agreement.n, "r2": pairing.r2}
        row |= {
            "spearman": Score(agreement.spearman.value, agreement.n, 0, agreement.spearman_interval),
            "kendall": Score(agreement.kendall.value, agreement.n, 0, agreement.kendall_interval),
        }
        rows.append(row | {"slope": pairing.slope and pairing.slope * y / x})
    note = "Intervals: percentile bootstrap over models."
    if found.scores.truebench:
        rows += [
            {
                "with": row["Benchmark"], "column": name.lower(), "n": row["N"],
                "spearman": Score(row[name], row["N"]), PUBLISHED: True,
            }
            for row in paper_rows(TRUEBENCH, "truebench_table7")
            for name in _PRINTED
        ]  # fmt: skip
        note += " The paper (Table 7) does not say which coefficient its own are."
    return Table("coefficients", _COEFFICIENTS, rows, "Agreement of rankings", note, keys=2)


def models(found: Correlated, *, far: bool = False, percent: bool = False) -> Table:
    """Every model by every two columns; of those `far` off the line the farthest first."""
    rows: list[dict[str, Any]] = []
    for pairing in found.pairings:
        x, y = _factors(found, pairing) if percent else (1, 1)
        rows += [
            {
                "model": point.model, "with": pairing.other, "column": pairing.column, "x": x * point.x,
                "y": y * point.y, "expected": None if point.expected is None else y * point.expected,
                "p_value": point.p_value, "rank_x": point.rank_x, "rank_y": point.rank_y,
            }
            for point in pairing.points
            if point.far or not far
        ]  # fmt: skip
    if not far:
        return Table("models", _MODELS, rows, keys=3)
    rows.sort(key=lambda row: float(row["p_value"] or 0))
    note = f"Farther from the line through all other models than chance puts {FAR:.0%} of them."
    return Table("far", _MODELS, rows, "Far off the line", note, keys=3)


def _factors(found: Correlated, pairing: Pairing) -> tuple[int, int]:
    """What makes theirs and ours what people read: 100 for shares."""
    pairs = ((pairing.other, found.others), (pairing.column, found.scores))
    x, y = (100 if name in of.shares else 1 for name, of in pairs)
    return x, y


def _plot(pairing: Pairing, x: int, y: int) -> Plot:
    def points(far: bool) -> tuple[tuple[float, float, float, str], ...]:
        shown = [(x * point.x, y * point.y, point.model) for point in pairing.points if point.far is far]
        return tuple((theirs, ours, 0.25, f"{model}: {theirs:g}, {ours:g}") for theirs, ours, model in shown)

    xs, ys = [x * point.x for point in pairing.points], [y * point.y for point in pairing.points]
    across = _axis(pairing.other, xs)
    series = [Series("models", points(far=False))]
    if far := points(far=True):
        series.append(Series("far off the line", far))
    if pairing.slope is not None and pairing.intercept is not None:
        ends = [(place, y * (pairing.intercept + pairing.slope * place / x)) for place in (min(xs), max(xs))]
        series.append(Series("least squares", tuple((*end, 0.0, f"{end[1]:.2f}") for end in ends), joined=True))
        ys += [up for _, up in ends]
    return Plot(f"{pairing.column} against {pairing.other}", tuple(series), across, _axis(pairing.column, ys))


def _axis(label: str, values: list[float]) -> Axis:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    margin = 0.05 * (high - low) or 1.0
    return Axis(label, low - margin, high + margin)


def _missing(found: Correlated) -> list[Table]:
    """Who is in one of the two alone, and whose name the other has in another spelling."""
    sides = (found.scores.where, found.others.where)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for pairing in found.pairings:
        folded = [{name.casefold(): name for name in only} for only in pairing.only]
        for side in (0, 1):
            for name in pairing.only[side]:
                alike = folded[1 - side].get(name.casefold(), "")
                rows.setdefault((name, sides[side]), {"model": name, "where": sides[side], "alike": alike})
    if not rows:
        return []
    about = "The same name in another case; names are compared exactly, without who provides the model."
    columns = (Column("model", "model"), Column("where", "only in"), Column("alike", "there is also", about=about))
    return [Table("missing", columns, list(rows.values()), f"Not in common: {len(rows)}")]
