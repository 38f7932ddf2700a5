"""Judged instances back from what a run leaves in its folder, and from official evaluation files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from truebench_hf import jsonl
from truebench_hf.benchmarks.truebench.records import Judged, from_official_row, from_row
from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError

JUDGMENTS = "judgments.jsonl"


def read_judged(path: Path) -> tuple[str, str, list[Judged]]:
    """(model, judge, judged instances) from a run folder, a `judgments.jsonl` or an official evaluation file.

    Rows that stand twice are returned twice: see `without_doubles`. Raises UserError naming the line, and where the
    rows are of more than one model or judge, or of others than the `run.json` beside them says.
    """
    file = path / JUDGMENTS if path.is_dir() else path
    name = path.name.split("_TRUEBench-v")[0].removesuffix(".jsonl").removesuffix("_eval_result")
    by, rows = ("", ""), list[Judged]()
    for where, row in jsonl.read(file, "give a run folder or an evaluation file"):
        item, judge = _read_row(row, where, name)
        before, by = by, (item.response.model, judge)
        if rows and by != before:
            raise UserError(f"{where}: {_by(*by)}, the rows before it {_by(*before)}; score them apart")
        rows.append(item)
    if not rows:
        raise UserError(f"{file}: holds no judged instances")
    settings = made_by(path).get("settings", {})
    if settings and (there := (settings["model"], settings["judge"])) != by:
        raise UserError(f"{file}: {_by(*by)}, but run.json beside it is about {_by(*there)}; finish that run first")
    held = len({item.instance.id for item in rows})
    if (wanted := settings.get("items", held)) != held:
        raise UserError(f"{file}: holds {held} instances, run.json beside it is about {wanted}; finish that run first")
    return *by, rows


def made_by(path: Path) -> dict[str, Any]:
    """The `run.json` of a run folder, or of the one that a `judgments.jsonl` lies in; {} where none is of a run."""
    folder = path if path.is_dir() else path.parent
    info = read_info(folder) if path.is_dir() or path.name == JUDGMENTS else {}
    return info if {"model", "judge"} <= info.get("settings", {}).keys() else {}


def _read_row(row: Any, where: str, name: str) -> tuple[Judged, str]:
    """(judged instance, judge) from either kind of row; `name` is the model of an official one."""
    if not isinstance(row, dict):
        raise UserError(f"{where}: not an object")
    return (from_official_row(row, where, name), "") if "judge_parsed" in row else from_row(row, where)


def _by(model: str, judge: str) -> str:
    return f"{model} judged by {judge}" if judge else model


def without_doubles(judged: Sequence[Judged]) -> tuple[list[Judged], int]:
    """The rows with each instance once (its last row, at its first place), and how many rows were left out."""
    unique = {item.instance.id: item for item in judged}
    return list(unique.values()), len(judged) - len(unique)
