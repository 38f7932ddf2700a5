"""How far scores of models agree with others of the same models (paper 000, Figure 4 and Table 7), and what is shown of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.truebench.results import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.results import scores_in
from truebench_hf.comparing import runs
from truebench_hf.data.row_files import records
from truebench_hf.data.row_formats import what_is
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.intervals import MIN_CLUSTERS
from truebench_hf.metrics.ranks import Trend, rank_agreement, trend
from truebench_hf.models.spec import without_provider
from truebench_hf.report.sections import Axis, Plot, Series
from truebench_hf.report.table import PUBLISHED, Column, Table, paper_rows
from truebench_hf.study.outcome import Outcome
from truebench_hf.text.terminal import how_many
from truebench_hf.types import Score

if TYPE_CHECKING:
    from pandas import DataFrame

FAR = 0.05  # a model is far off the line where chance alone would put it there less often


@dataclass(frozen=True, eq=False)
class RankPairing:
    """One column held against one other: agreement, the least-squares line of ours on theirs, and every model.

    `points` has a row per model in both, by its name: x (its outside score), y (ours), rank_x and rank_y among these
    models, expected (the line's y at x) and p_value (see `metrics.ranks.Trend`), NaN without. `factors` make theirs and
    ours what people read: 100 for shares. `only` are the models that have a score in the one, and not in the other.
    """

    column: str
    other: str
    agreement: Mapping[str, Score]
    line: Trend | None
    points: DataFrame
    only: tuple[tuple[str, ...], tuple[str, ...]]
    factors: tuple[int, int]

    def scaled(self) -> DataFrame:
        """The points with shares in percent."""
        x, y = self.factors
        return self.points.assign(x=x * self.points["x"], **{name: y * self.points[name] for name in ("y", "expected")})


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
    ours = read_scores([scores] if isinstance(scores, str) else scores, column, "SCORES", "--column")
    theirs = read_scores([others] if isinstance(others, str) else others, with_column, "--with", "--with-column")
    pairings = (_pairing(ours, name, theirs, other, seed) for other in theirs.frame for name in ours.frame)
    return Correlated(ours, theirs, tuple(pairings))


def _pairing(ours: ModelScores, column: str, theirs: ModelScores, other: str, seed: int) -> RankPairing:
    import pandas as pd

    y, x = ours.frame[column].dropna(), theirs.frame[other].dropna()
    points = pd.DataFrame({"x": x.reindex(y.index), "y": y}).dropna()
    ranks = points.rank(method="min", ascending=False).astype(int)
    line = trend(points["x"].tolist(), points["y"].tolist())
    points = points.assign(
        expected=line.intercept + line.slope * points["x"] if line else float("nan"),
        p_value=pd.Series(line.p_values if line else None, index=points.index, dtype=float),
        rank_x=ranks["x"], rank_y=ranks["y"],
    )  # fmt: skip
    return RankPairing(
        column, other, rank_agreement(points["y"].tolist(), points["x"].tolist(), seed=seed), line,
        points.sort_values("rank_y", kind="stable"), (tuple(y.index.drop(points.index)), tuple(x.index.drop(points.index))),
        (100 if other in theirs.shares else 1, 100 if column in ours.shares else 1),
    )  # fmt: skip


_PLOTS = 12
_NAMED = 10  # models that only one side has
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


def outcome(correlated: Correlated) -> Outcome[Correlated]:
    """What a correlation shows, with shares in percent, and writes, with shares from 0 to 1."""
    drawn = [pairing for pairing in correlated.pairings if len(pairing.points) > 1][:_PLOTS]
    points = _points(correlated, percent=True)
    far = points[points["p_value"] < FAR].sort_values("p_value", kind="stable")
    note = f"Farther from the line through all other models than chance puts {FAR:.0%} of them."
    off_the_line = [Table.of_frame("far", far, _MODELS, title="Far off the line", note=note, keys=3)]
    models = Table.of_frame("models", _points(correlated), _MODELS, keys=3)
    where, others = correlated.scores.where, correlated.others.where
    content = {
        "scores": where, "with": others, "coefficients": coefficients(correlated).records(), "models": models.records(),
        "only": [
            {"with": pairing.other, "column": pairing.column, "scores": pairing.only[0], "others": pairing.only[1]}
            for pairing in correlated.pairings
        ],
    }  # fmt: skip
    return Outcome(
        correlated, title=f"{where} against {others}", notes=notes(correlated),
        tables=[coefficients(correlated, percent=True), *(off_the_line if len(far) else [])],
        charts=[*map(_plot, drawn)], items={"correlate.json": content, "models.csv": models.to_csv()},
    )  # fmt: skip


def notes(correlated: Correlated) -> list[str]:
    """What a reader has to know."""
    lines = [*correlated.scores.notes, *correlated.others.notes]
    if few := [count for pairing in correlated.pairings if (count := len(pairing.points)) < MIN_CLUSTERS]:
        lines.append(f"With fewer than {MIN_CLUSTERS} models in common ({few[0]} here) there are no intervals.")
    for side, where in enumerate((correlated.scores.where, correlated.others.where)):
        if only := list(dict.fromkeys(name for pairing in correlated.pairings for name in pairing.only[side])):
            more = f" and {len(only) - _NAMED} more" if len(only) > _NAMED else ""
            lines.append(
                f"Only in {where}: {', '.join(only[:_NAMED])}{more}; names are compared exactly, but for providers."
            )
    if (count := len(correlated.pairings)) > _PLOTS:
        lines.append(f"The first {_PLOTS} of {count} pairs are drawn; name columns to choose others.")
    return lines


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


def _points(correlated: Correlated, *, percent: bool = False) -> DataFrame:
    """Every model by every two columns, as `_MODELS` names them."""
    import pandas as pd

    points = pd.concat(
        (pairing.scaled() if percent else pairing.points).assign(**{"with": pairing.other, "column": pairing.column})
        for pairing in correlated.pairings
    )
    return points.rename_axis("model").reset_index()


def _plot(pairing: RankPairing) -> Plot:
    points, line = pairing.scaled(), pairing.line
    far = points["p_value"] < FAR
    across, ours = _axis(pairing.other, points["x"].tolist()), points["y"].tolist()
    series = [
        Series(name, tuple((x, y, 0.25, f"{model}: {x:g}, {y:g}") for model, x, y in part[["x", "y"]].itertuples()))
        for name, part in (("models", points[~far]), ("far off the line", points[far])) if name == "models" or len(part)
    ]  # fmt: skip
    if line:
        x, y = pairing.factors
        ends = [(end, y * (line.intercept + line.slope * end / x)) for end in (points["x"].min(), points["x"].max())]
        series.append(Series("least squares", tuple((*end, 0.0, f"{end[1]:.2f}") for end in ends), joined=True))
        ours += [up for _, up in ends]
    return Plot(f"{pairing.column} against {pairing.other}", tuple(series), across, _axis(pairing.column, ours))


def _axis(label: str, values: list[float]) -> Axis:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    margin = 0.05 * (high - low) or 1.0
    return Axis(label, low - margin, high + margin)


PUBLISHED_SCORES = "published"  # instead of a file: the paper's Table 5
SOFT = {"overall": "hard", "soft_criterion": "soft (criterion)", "soft_turn": "soft (turn)"}  # as Table 7 names them
_NAMES = ("model", "model name", "model_name", "name", "llm", "system")
_MISSING = ("", "-", "nan", "n/a", "na", "none", "null")
_MOST = 6  # columns taken where none is named


@dataclass(frozen=True, eq=False)
class ModelScores:
    """Scores: a column each, by the model's name without its provider; NaN where a model has none.

    `truebench`: they are TRUEBench's, so that the paper's Table 7 may stand beside. `shares` are the columns of our own
    figures that are shares (0 to 1), which people read in percent; a table's are as it gives them. `notes` say what a
    reader must know.
    """

    where: str
    frame: DataFrame
    truebench: bool = False
    shares: Collection[str] = ()
    notes: tuple[str, ...] = field(default=())


def read_scores(sources: Sequence[str], columns: Sequence[str], flag: str, column_flag: str) -> ModelScores:
    """The scores in a table (CSV, JSON, JSONL, Parquet), in run folders or folders of them, or those `published`.

    `columns` names those wanted; else all that are numbers. Raises UserError where something is not to be read, where two
    rows are about one model, and naming what there is.
    """
    import pandas as pd

    if not sources:
        raise UserError(f"{flag}: give a table of scores, run folders, or {PUBLISHED_SCORES}")
    if list(sources) == [PUBLISHED_SCORES]:
        frame = pd.DataFrame(paper_rows(TRUEBENCH, "truebench_table5")).set_index("Model") / 100
        wanted = _chosen(columns or ["Overall"], list(frame), column_flag)
        return ModelScores("TRUEBench as published", frame[wanted], truebench=True, shares=wanted)
    folders = [source for source in sources if Path(source).is_dir()]
    if folders and len(folders) == len(sources):
        return _scores_of_runs(folders, columns, flag, column_flag)
    if len(sources) > 1:
        raise UserError(f"{flag}: several are run folders; of tables give one")
    path = Path(sources[0])
    if what_is(path) not in ("file", "stream"):
        raise UserError(f"{flag} {path}: no such file; give a table of scores, run folders, or {PUBLISHED_SCORES}")
    return _scores_of_table(path, columns, column_flag)


def _scores_of_runs(folders: Sequence[str], columns: Sequence[str], flag: str, column_flag: str) -> ModelScores:
    import pandas as pd

    scores: dict[str, dict[str, float | None]] = {}
    folder_of: dict[str, Path] = {}
    settings, kinds, shares = set[str](), set[str](), set[str]()
    boards = [(folder, runs.read_board(folder)) for root in folders for folder in runs.below(root, f"{flag} ", "")]
    for folder, run in ((folder, run) for folder, run in boards if run):
        kinds.add(run.kind)
        main = next(column for column in run.board.columns if column.name == run.board.main)
        titles = SOFT if run.kind == TRUEBENCH else {main.name: main.title}
        for entry in run.entries:
            name = without_provider(entry.name)
            if folder_of.setdefault(name, folder).resolve() != folder.resolve():
                raise UserError(f"{name} stands in {folder_of[name]} and in {folder}; name one run of each model")
            settings.add(entry.setting)
            cells = scores_in(folder, entry.name) if run.kind == TRUEBENCH else {}
            cells[main.name] = entry.overall
            scores[name] = {titles[column]: cells[column].value for column in titles if column in cells}
            shares |= set(scores[name]) if main.percent else set()
    if not folder_of:
        raise UserError(f"{flag}: no finished run in {', '.join(folders)}; finish one, or give a table")
    if len(kinds) > 1:
        raise UserError(f"{flag}: holds runs of kind {', '.join(sorted(kinds))}; name run folders of one kind")
    notes = ("These runs were not all judged alike, on the same data: their scores are no one scale.",)
    frame = pd.DataFrame.from_dict(scores, orient="index").astype(float)
    wanted = _chosen(columns or list(frame), list(frame), column_flag)
    where, mixed = ", ".join(folders), len(settings) > 1
    return ModelScores(where, frame[wanted], kinds == {TRUEBENCH}, shares, notes if mixed else ())


def _scores_of_table(path: Path, columns: Sequence[str], flag: str) -> ModelScores:
    import pandas as pd

    rows = list(records(path))
    cells = pd.DataFrame([record.row for record in rows], dtype=object)
    texts = cells.map(lambda value: "" if pd.api.types.is_scalar(value) and pd.isna(value) else str(value).strip())
    # Also as texts, of percent with their sign; what is no finite number is NaN.
    numbers = texts.apply(lambda column: pd.to_numeric(column.str.removesuffix("%"), errors="coerce")).astype(float)
    numbers = numbers.where(numbers.abs() < math.inf)
    empty = texts.apply(lambda column: column.str.casefold().isin(_MISSING))
    numeric = [column for column in cells if (empty | numbers.notna())[column].all() and texts[column].any()]
    name = _name_column(cells, numeric, path)
    others = [column for column in cells if column != name]
    if not set(numeric) - {name}:
        raise UserError(f"{path}: no column of numbers beside {name!r}; it has {', '.join(cells)}")
    wanted = _chosen(columns or [column for column in others if column in numeric], others, flag)
    if words := [column for column in wanted if column not in numeric]:
        raise UserError(f"{path}: column {words[0]!r} is not all numbers; blank cells may stand for missing ones")
    if not columns and len(wanted) > _MOST:
        raise UserError(f"{path}: has {len(wanted)} columns of numbers: {', '.join(wanted)}; name some by {flag}")
    models = texts[name][texts[name] != ""]
    bare = models.map(without_provider)
    for place in bare.index[bare.duplicated()][:1]:
        model, other = models[place], models[bare == bare[place]].iloc[0]
        both = f"{model!r} stands twice" if other == model else f"{other!r} and {model!r} are both {bare[place]!r}"
        raise UserError(f"{rows[place].where}: {both}; leave one row for each model")
    nameless = len(cells) - len(models)
    notes = (f"{path}: {how_many(nameless, 'row')} without a name in {name!r}, left out.",) if nameless else ()
    return ModelScores(str(path), numbers.loc[models.index, wanted].set_axis(bare), notes=notes)


def _name_column(cells: DataFrame, numeric: Collection[str], path: Path) -> str:
    folded = {column.strip().casefold(): column for column in cells}
    known = [folded[name] for name in _NAMES if name in folded]
    texts = cells.map(lambda value: isinstance(value, str) and bool(value.strip())).all()
    known += [column for column in cells if texts[column] and column not in numeric]
    if not known:
        raise UserError(f"{path}: no column names the models; call it 'model'")
    return str(known[0])


def _chosen(wanted: Sequence[str], known: Sequence[str], flag: str) -> list[str]:
    for name in wanted:
        if name not in known:
            raise unknown(f"column for {flag}", name, known)
    return list(wanted)
