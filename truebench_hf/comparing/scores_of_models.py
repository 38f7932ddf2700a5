"""Scores of models, a column each, from tables, run folders and the published results."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from truebench_hf.benchmarks.truebench.board import KIND as TRUEBENCH
from truebench_hf.benchmarks.truebench.board import scores_in
from truebench_hf.comparing import runs
from truebench_hf.data.row_files import records
from truebench_hf.data.row_formats import what_is
from truebench_hf.errors import UserError, unknown
from truebench_hf.models.spec import without_provider
from truebench_hf.report.table import paper_rows
from truebench_hf.text.terminal import how_many

PUBLISHED = "published"  # instead of a file: the paper's Table 5
SOFT = {"overall": "hard", "soft_criterion": "soft (criterion)", "soft_turn": "soft (turn)"}  # as Table 7 names them
_NAMES = ("model", "model name", "model_name", "name", "llm", "system")
_MISSING = ("-", "nan", "n/a", "na", "none", "null")
_MOST = 6  # columns taken where none is named


@dataclass(frozen=True)
class ModelScores:
    """Scores by column and by the model's name without its provider; None where a model has none.

    `truebench`: they are TRUEBench's, so that the paper's Table 7 may stand beside. `shares` are the columns of our own
    figures that are shares (0 to 1), which people read in percent; a table's are as it gives them. `notes` say what a
    reader must know.
    """

    where: str
    columns: Mapping[str, Mapping[str, float | None]]
    truebench: bool = False
    shares: Collection[str] = ()
    notes: tuple[str, ...] = field(default=())


def read_scores(sources: Sequence[str], columns: Sequence[str], flag: str, column_flag: str) -> ModelScores:
    """The scores in a table (CSV, JSON, JSONL, Parquet), in run folders or folders of them, or those `published`.

    `columns` names those wanted; else all that are numbers. Raises UserError where something is not to be read, where two
    rows are about one model, and naming what there is.
    """
    if not sources:
        raise UserError(f"{flag}: give a table of scores, run folders, or {PUBLISHED}")
    if len(sources) == 1 and sources[0] == PUBLISHED:
        return _published(columns, column_flag)
    folders = [source for source in sources if Path(source).is_dir()]
    if folders and len(folders) == len(sources):
        return _scores_of_runs(folders, columns, flag, column_flag)
    if len(sources) > 1:
        raise UserError(f"{flag}: several are run folders; of tables give one")
    path = Path(sources[0])
    if what_is(path) not in ("file", "stream"):
        raise UserError(f"{flag} {path}: no such file; give a table of scores, run folders, or {PUBLISHED}")
    return _scores_of_table(path, columns, column_flag)


def _published(columns: Sequence[str], flag: str) -> ModelScores:
    rows = paper_rows(TRUEBENCH, "truebench_table5")
    printed = [name for name in rows[0] if name != "Model"]
    wanted = _chosen(columns or ["Overall"], printed, flag)
    scores = {
        name: {row["Model"]: None if row[name] is None else row[name] / 100 for row in rows} for name in wanted
    }  # fmt: skip
    return ModelScores("TRUEBench as published", scores, truebench=True, shares=wanted)


def _scores_of_runs(folders: Sequence[str], columns: Sequence[str], flag: str, column_flag: str) -> ModelScores:
    scores: dict[str, dict[str, float | None]] = {}
    folder_of: dict[str, Path] = {}
    settings, kinds, shares = set[str](), set[str](), set[str]()
    for root in folders:
        for folder in runs.below(root, f"{flag} ", ""):
            if (run := runs.read(folder)) is None:
                continue
            kinds.add(run.kind)
            for entry in run.entries:
                name = without_provider(entry.name)
                if name in folder_of and folder_of[name].resolve() != folder.resolve():
                    raise UserError(f"{name} stands in {folder_of[name]} and in {folder}; name one run of each model")
                folder_of[name] = folder
                settings.add(entry.setting)
                for column, (value, share) in _columns(run, entry, folder).items():
                    scores.setdefault(column, {})[name] = value
                    shares |= {column} if share else set()
    if not folder_of:
        raise UserError(f"{flag}: no finished run in {', '.join(folders)}; finish one, or give a table")
    if len(kinds) > 1:
        raise UserError(f"{flag}: holds runs of kind {', '.join(sorted(kinds))}; name run folders of one kind")
    notes = ("These runs were not all judged alike, on the same data: their scores are no one scale.",)
    wanted = _chosen(columns, list(scores), column_flag) if columns else list(scores)
    return ModelScores(
        ", ".join(folders), {name: scores[name] for name in wanted}, kinds == {TRUEBENCH}, shares,
        notes if len(settings) > 1 else (),
    )  # fmt: skip


def _columns(run: runs.BoardRun, entry: runs.BoardEntry, folder: Path) -> dict[str, tuple[float | None, bool]]:
    """The main score of a run, of TRUEBench the hard and both soft ones, and whether it is a share."""
    if run.kind != TRUEBENCH:
        main = next(column for column in run.columns if column.name == run.main)
        return {main.title: (entry.overall.value, main.percent)}
    columns = {SOFT["overall"]: (entry.overall.value, True)}
    scores = scores_in(folder, entry.name)
    for name, title in list(SOFT.items())[1:]:
        if name in scores:
            columns[title] = (scores[name].value, True)
    return columns


def _scores_of_table(path: Path, columns: Sequence[str], flag: str) -> ModelScores:
    rows = list(records(path))
    header = list(dict.fromkeys(name for record in rows for name in record.row))
    name = _name_column(header, [record.row for record in rows], path)
    numbers = [
        column for column in header if column != name and _is_numbers([record.row.get(column) for record in rows])
    ]
    if not numbers:
        raise UserError(f"{path}: no column of numbers beside {name!r}; it has {', '.join(header)}")
    if columns:
        wanted = _chosen(columns, [column for column in header if column != name], flag)
        if texts := [column for column in wanted if column not in numbers]:
            raise UserError(f"{path}: column {texts[0]!r} is not all numbers; blank cells may stand for missing ones")
    elif len(numbers) > _MOST:
        raise UserError(f"{path}: has {len(numbers)} columns of numbers: {', '.join(numbers)}; name some by {flag}")
    else:
        wanted = numbers
    scores: dict[str, dict[str, float | None]] = {column: {} for column in wanted}
    seen: dict[str, str] = {}
    nameless = 0
    for record in rows:
        if not (model_name := str(record.row.get(name) or "").strip()):
            nameless += 1
            continue
        bare = without_provider(model_name)
        if bare in seen:
            same = (
                f"{model_name!r} stands twice"
                if seen[bare] == model_name
                else f"{seen[bare]!r} and {model_name!r} are both {bare!r}"
            )
            raise UserError(f"{record.where}: {same}; leave one row for each model")
        seen[bare] = model_name
        for column in wanted:
            scores[column][bare] = _number(record.row.get(column))
    notes = (f"{path}: {how_many(nameless, 'row')} without a name in {name!r}, left out.",) if nameless else ()
    return ModelScores(str(path), scores, notes=notes)


def _name_column(header: Sequence[str], rows: Sequence[Mapping[str, Any]], path: Path) -> str:
    folded = {column.strip().casefold(): column for column in header}
    for name in _NAMES:
        if name in folded:
            return folded[name]
    for column in header:
        values = [row.get(column) for row in rows]
        if all(isinstance(value, str) and value.strip() for value in values) and not _is_numbers(values):
            return column
    raise UserError(f"{path}: no column names the models; call it 'model'")


def _chosen(wanted: Sequence[str], known: Sequence[str], flag: str) -> list[str]:
    for name in wanted:
        if name not in known:
            raise unknown(f"column for {flag}", name, known)
    return list(wanted)


def _is_numbers(values: Sequence[Any]) -> bool:
    filled = [value for value in values if value is not None and str(value).strip()]
    return bool(filled) and all(
        _number(value) is not None or str(value).strip().casefold() in _MISSING for value in filled
    )


def _number(value: Any) -> float | None:
    """A finite number, also as a text, of percent with its sign; else None."""
    if isinstance(value, bool):
        return None
    try:
        number = float(value.strip().removesuffix("%")) if isinstance(value, str) else float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None
