"""How far scores of models agree with others of the same models (paper 000, Figure 4 and Table 7), and what is shown of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.comparing.scores_of_models import ModelScores, read_scores
from truebench_hf.metrics.intervals import MIN_CLUSTERS
from truebench_hf.metrics.ranks import Trend, rank_agreement, trend
from truebench_hf.report.sections import Axis, Plot, Section, Series
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.types import Score

FAR = 0.05  # a model is far off the line where chance alone would put it there less often


@dataclass(frozen=True, slots=True)
class ModelPoint:
    """A model in both: `x` is its outside score, `y` ours, with its rank by each among the models in common.

    `p_value`: see `metrics.ranks.Trend`, None without a line.
    """

    model: str
    x: float
    y: float
    rank_x: int
    rank_y: int
    p_value: float | None

    @property
    def far(self) -> bool:
        """Whether it lies far off the line."""
        return self.p_value is not None and self.p_value < FAR


@dataclass(frozen=True)
class RankPairing:
    """One column held against one other: agreement, the least-squares line of ours on theirs, and every model.

    `factors` make theirs and ours what people read: 100 for shares. `only` are the models that have a score in the one,
    and not in the other.
    """

    column: str
    other: str
    agreement: Mapping[str, Score]
    line: Trend | None
    points: tuple[ModelPoint, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]
    factors: tuple[int, int]


@dataclass(frozen=True)
class Correlated:
    """Every column of the scores held against every other one."""

    scores: ModelScores
    others: ModelScores
    pairings: tuple[RankPairing, ...]


def correlate(
    scores: Sequence[str], others: Sequence[str], *, column: Sequence[str] = (), with_column: Sequence[str] = (),
    seed: int = 0,
) -> Correlated:  # fmt: skip
    """Hold scores against others; `truebench study correlate` as a Python call. What each may be: `read_scores`.

    Models are the same where their names are, without who provides them; nothing is guessed. Raises UserError as
    `read_scores`.
    """
    ours = read_scores([scores] if isinstance(scores, str) else scores, column, "--scores", "--column")
    theirs = read_scores([others] if isinstance(others, str) else others, with_column, "--with", "--with-column")
    pairings = (_pairing(ours, name, theirs, other, seed) for other in theirs.columns for name in ours.columns)
    return Correlated(ours, theirs, tuple(pairings))


def _pairing(ours: ModelScores, column: str, theirs: ModelScores, other: str, seed: int) -> RankPairing:
    known = {name: value for name, value in ours.columns[column].items() if value is not None}
    outside = {name: value for name, value in theirs.columns[other].items() if value is not None}
    common = [name for name in known if name in outside]
    y, x = [known[name] for name in common], [outside[name] for name in common]
    line = trend(x, y)
    p_values = line.p_values if line else [None] * len(common)
    points = [
        ModelPoint(
            name, x[i], y[i], 1 + sum(value > x[i] for value in x), 1 + sum(value > y[i] for value in y), p_values[i]
        )
        for i, name in enumerate(common)
    ]
    return RankPairing(
        column, other, rank_agreement(y, x, seed=seed), line, tuple(sorted(points, key=lambda point: point.rank_y)),
        (tuple(name for name in known if name not in outside), tuple(name for name in outside if name not in known)),
        (100 if other in theirs.shares else 1, 100 if column in ours.shares else 1),
    )  # fmt: skip


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


def sections(correlated: Correlated) -> list[Section]:
    """Everything a correlation shows, in order; shares in percent."""
    drawn = [pairing for pairing in correlated.pairings if len(pairing.points) > 1][:_PLOTS]
    far = models(correlated, far=True, percent=True)
    return [
        coefficients(correlated, percent=True),
        *([far] if far.rows else []),
        *map(_plot, drawn),
        *_missing(correlated),
    ]


def title(correlated: Correlated) -> str:
    """What is held against what."""
    return f"{correlated.scores.where} against {correlated.others.where}"


def notes(correlated: Correlated) -> list[str]:
    """What a reader has to know."""
    lines = [*correlated.scores.notes, *correlated.others.notes]
    few = [pairing for pairing in correlated.pairings if len(pairing.points) < MIN_CLUSTERS]
    if few:
        lines.append(
            f"With fewer than {MIN_CLUSTERS} models in common ({len(few[0].points)} here) there are no intervals."
        )
    if len(correlated.pairings) > _PLOTS:
        lines.append(
            f"The first {_PLOTS} of {len(correlated.pairings)} pairs are drawn; name columns to choose others."
        )
    return lines


def files(correlated: Correlated) -> dict[str, str]:
    """The files beside the page, by name; shares are 0 to 1 there."""
    tables = (coefficients(correlated), models(correlated))
    content = {
        "scores": correlated.scores.where,
        "with": correlated.others.where,
        **{t.name: t.records() for t in tables},
    }
    content["only"] = [
        {"with": pairing.other, "column": pairing.column, "scores": pairing.only[0], "others": pairing.only[1]}
        for pairing in correlated.pairings
    ]
    return {
        "correlate.json": json.dumps(content, ensure_ascii=False, indent=1) + "\n",
        "models.csv": models(correlated).to_csv(),
    }


def coefficients(correlated: Correlated, *, percent: bool = False) -> Table:
    """The agreement of every two columns; `percent` scales the slope to shares in percent."""
    rows: list[dict[str, Any]] = []
    for pairing in correlated.pairings:
        (x, y), line = pairing.factors if percent else (1, 1), pairing.line
        row = {"with": pairing.other, "column": pairing.column, "n": len(pairing.points), **pairing.agreement}
        rows.append(row | ({"r2": line.r2, "slope": line.slope * y / x} if line else {}))
    note = "Intervals: percentile bootstrap over models."
    if correlated.scores.truebench:
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


def models(correlated: Correlated, *, far: bool = False, percent: bool = False) -> Table:
    """Every model by every two columns; of those `far` off the line the farthest first."""
    rows: list[dict[str, Any]] = []
    for pairing in correlated.pairings:
        (x, y), line = pairing.factors if percent else (1, 1), pairing.line
        rows += [
            {
                "model": point.model, "with": pairing.other, "column": pairing.column, "x": x * point.x, "y": y * point.y,
                "expected": y * (line.intercept + line.slope * point.x) if line else None,
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


def _plot(pairing: RankPairing) -> Plot:
    (x, y), line = pairing.factors, pairing.line

    def points(far: bool) -> tuple[tuple[float, float, float, str], ...]:
        placed = [(x * point.x, y * point.y, point.model) for point in pairing.points if point.far is far]
        return tuple((theirs, ours, 0.25, f"{model}: {theirs:g}, {ours:g}") for theirs, ours, model in placed)

    xs, ys = [x * point.x for point in pairing.points], [y * point.y for point in pairing.points]
    across = _axis(pairing.other, xs)
    series = [Series("models", points(far=False))]
    if far := points(far=True):
        series.append(Series("far off the line", far))
    if line:
        ends = [(place, y * (line.intercept + line.slope * place / x)) for place in (min(xs), max(xs))]
        series.append(Series("least squares", tuple((*end, 0.0, f"{end[1]:.2f}") for end in ends), joined=True))
        ys += [up for _, up in ends]
    return Plot(f"{pairing.column} against {pairing.other}", tuple(series), across, _axis(pairing.column, ys))


def _axis(label: str, values: list[float]) -> Axis:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    margin = 0.05 * (high - low) or 1.0
    return Axis(label, low - margin, high + margin)


def _missing(correlated: Correlated) -> list[Table]:
    """Who is in one of the two alone, and whose name the other has in another spelling."""
    sides = (correlated.scores.where, correlated.others.where)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for pairing in correlated.pairings:
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
