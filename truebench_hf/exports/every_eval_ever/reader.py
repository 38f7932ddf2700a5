"""Scores that others tell in Every Eval Ever, as boards show them: marked as theirs, and never ranked with what is ours."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from truebench_hf.data import jsonl
from truebench_hf.data.row_formats import read_text
from truebench_hf.data.rows import Record, user_error
from truebench_hf.engine.info import FORMAT
from truebench_hf.errors import UserError
from truebench_hf.exports.every_eval_ever.form import EvaluationResult, Log, MetricConfig
from truebench_hf.exports.every_eval_ever.scores import plain
from truebench_hf.exports.files import put
from truebench_hf.hashing import canonical, digest
from truebench_hf.report.sections import Grid, interval, value
from truebench_hf.study.board import LONGEST, Board, Column, Row
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Score

_MOST = 200  # scores of a file that a board can show
_MARK = "evaluation_results"
_LEVELS = ("data/*/*/*/*.json", "*/*/*/*.json", "*/*/*.json", "*/*.json", "*.json")  # a whole data store, and its parts
_OURS = "truebench-hf"


@dataclass(frozen=True)
class Theirs:
    """What a file tells: a line of a board of that kind. `more` scores did not fit it."""

    where: str
    kind: str
    board: Board
    more: int = 0

    @property
    def row(self) -> Row:
        """The one line."""
        return self.board.rows[0]


def is_log(path: Path) -> bool:
    """Whether a file is one of Every Eval Ever, or a folder holds `data/BENCHMARK/DEVELOPER/MODEL/*.json` or a part of that."""
    return bool(next(_files(path), None))


def read(path: Path) -> list[Theirs]:
    """The scores in a file, or in all files of a folder. Raises UserError naming the field that is wrong."""
    return [_theirs(file) for file in _files(path)]


def _files(path: Path) -> Iterator[Path]:
    if path.is_dir():
        levels = (sorted(file for file in path.glob(level) if file.is_file()) for level in _LEVELS)
        # All of them, so that a damaged one is told of.
        yield from next((files for files in levels if any(map(_marked, files))), ())
    elif _marked(path):
        yield path


def _marked(path: Path) -> bool:
    return path.suffix == ".json" and path.is_file() and isinstance(held := _held(path), dict) and _MARK in held


def _held(path: Path) -> Any:
    try:
        content = path.read_bytes()
        return jsonl.parsed(content, str(path)) if _MARK.encode() in content else None
    except (UserError, OSError):
        return None


def _theirs(path: Path) -> Theirs:
    row = jsonl.parsed(read_text(path), str(path))
    try:
        log = Log.model_validate(row)
    except ValidationError as error:
        raise user_error(error, Record(f"{path}: not a file of Every Eval Ever", row)) from error
    told = _once(log.evaluation_results)
    if not told:
        raise UserError(f"{path}: holds no evaluation results")
    benchmark = log.evaluation_id.split("/")[0]
    kind = plain(benchmark)[:60]
    columns: list[Column] = []
    scores: dict[str, Score] = {}
    called = Counter(one.metric_config.metric_name for one in told.values())
    for number, (name, one) in enumerate(list(told.items())[:_MOST], 1):
        short = _cut(name.removeprefix(f"{benchmark}.") if log.eval_library.name == _OURS else name)
        key = short if short not in scores else f"{short[: LONGEST // 4]} ({number})"
        share, most = _scale(one.metric_config)
        title = _cut(metric) if (metric := one.metric_config.metric_name) and called[metric] == 1 else short
        columns.append(Column(key, title, "Scores" if columns else "", share))
        scores[key] = _score(one, most)
    main = next(iter(told.values()))
    order: Literal["ascending", "descending"] = "ascending" if main.metric_config.lower_is_better else "descending"
    facts = {name: _cut(value) for name, value in _facts(log, main).items()}
    setting = digest(canonical([benchmark, facts]))
    row = Row(_cut(log.model_info.name), setting, scores, facts)
    return Theirs(str(path), kind, Board(columns[0].name, tuple(columns), (row,), order), max(len(told) - _MOST, 0))


def _once(results: Sequence[EvaluationResult]) -> dict[str, EvaluationResult]:
    """Results by name; where one name stands for several, by what tells these apart."""
    names = [one.evaluation_name for one in results]
    found: dict[str, EvaluationResult] = {}
    for number, one in enumerate(results, 1):
        name = one.evaluation_name
        if names.count(name) > 1:
            how = (one.metric_config.additional_details or {}).values()
            name = " / ".join(filter(None, [name, one.metric_config.metric_name or one.evaluation_result_id, *how]))
        found[name if name not in found else f"{name} ({number})"] = one
    return found


def _scale(metric: MetricConfig) -> tuple[bool, float]:
    """(whether it is a share, by what to divide it so that it goes from 0 to 1)."""
    bounds = (metric.min_score, metric.max_score)
    if bounds == (0, 1):
        return True, 1.0
    return (True, 100.0) if bounds == (0, 100) and metric.metric_unit in (None, "percent") else (False, 1.0)


def _score(one: EvaluationResult, most: float) -> Score:
    details = one.score_details
    uncertainty = details.uncertainty
    held = uncertainty.num_samples if uncertainty else None
    interval = uncertainty.confidence_interval if uncertainty else None
    usual = interval if interval and interval.confidence_level == 0.95 else None
    ci95 = (usual.lower / most, usual.upper / most) if usual else None
    return Score(details.score / most, held or one.source_data.samples_number or 0, _unscored(one), ci95)


def _unscored(one: EvaluationResult) -> int:
    told = (one.score_details.details or {}).get("unscored", "")
    return int(told) if told.isascii() and told.isdecimal() and len(told) < 10 else 0


def _facts(log: Log, first: EvaluationResult) -> dict[str, str]:
    scoring = first.metric_config.llm_scoring
    source = log.source_metadata
    judges = " + ".join(judge.model_info.name for judge in scoring.judges) if scoring else ""
    return {
        "Told by": f"{source.source_organization_name} ({source.evaluator_relationship.replace('_', ' ')})",
        "Library": f"{log.eval_library.name} {log.eval_library.version}",
        "Data": first.source_data.dataset_name,
        **({"Judge": judges} if judges else {}),
    }


def _cut(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else " " for letter in text)
    return shortened(printable, LONGEST // 2) or "unnamed"


def grid(found: Sequence[Theirs]) -> Grid:
    """Their scores, a line each."""
    rows = [
        (
            one.row.name, one.row.facts["Told by"], column.title,
            value(score) if column.percent else f"{score.value:g}",
            interval(score) if column.percent else "", str(score.n or ""),
        )
        for one in found
        for column in one.board.columns
        for score in (one.row.scores[column.name],)
    ]  # fmt: skip
    note = "As others tell them, in Every Eval Ever; nothing of it was measured or checked here."
    return Grid(
        "Scores of others", ("model", "told by", "score", "value", "95 % interval", "n"), tuple(rows), note=note
    )


def write(found: Sequence[Theirs], out: Path) -> list[Path]:
    """A folder for each below `out`, which boards show (`leaderboard --runs`, the Space) as told by others."""
    folders = []
    for one in found:
        content = digest(canonical([one.kind, one.board.as_json()]))
        folder = out / f"{one.kind}-{plain(one.row.name)}-{content[:8]}"
        info = {
            "kind": one.kind, "format": FORMAT, "others": True, "content": content,
            "settings": {"told_by": one.row.facts["Told by"], "file": Path(one.where).name},
            "board": one.board.as_json(),
        }  # fmt: skip
        put(folder / "run.json", json.dumps(info, ensure_ascii=False, indent=1) + "\n")
        folders.append(folder)
    return folders
