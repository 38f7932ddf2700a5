"""What a run leaves in its folder: judgments, scores, the two official tables and the HTML report."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from truebench_hf.benchmarks.truebench import official as tables
from truebench_hf.benchmarks.truebench.records import Judged, from_official_row, from_row, to_row
from truebench_hf.benchmarks.truebench.scores import as_json
from truebench_hf.engine.folder import RunFolder
from truebench_hf.errors import UserError
from truebench_hf.report import html
from truebench_hf.types import Report

JUDGMENTS = "judgments.jsonl"


def write_results(folder: RunFolder, report: Report, judged: Sequence[Judged], *, official: bool) -> None:
    """Write `judgments.jsonl`, `scores.json`, `scores_category.csv`, `scores_language.csv` and `report.html`."""
    model, judge = str(report.provenance["model"]), str(report.provenance["judge"])
    lines = (json.dumps(to_row(item, judge), ensure_ascii=False) + "\n" for item in judged)
    folder.write_lines(JUDGMENTS, lines)
    folder.write_json("scores.json", as_json(report))
    folder.write("scores_category.csv", tables.to_csv(tables.category_table([(model, judged)], official)))
    folder.write("scores_language.csv", tables.to_csv(tables.language_table([(model, judged)], official)))
    title = f"TRUEBench: {model}"
    folder.write_lines("report.html", html.render(title, report, (to_row(item, judge) for item in judged)))


def read_judged(path: Path) -> tuple[str, str, list[Judged]]:
    """(model, judge, judged instances) from a run folder, a `judgments.jsonl` or an official evaluation file.

    Rows that stand twice are returned twice: see `without_doubles`. Raises UserError naming the line.
    """
    file = path / JUDGMENTS if path.is_dir() else path
    model = path.name.split("_TRUEBench-v")[0].removesuffix(".jsonl").removesuffix("_eval_result")
    judge, rows = "", list[Judged]()
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                where = f"{file}, line {number}"
                row = _parsed(line, where)
                if "judge_parsed" in row:
                    rows.append(from_official_row(row, where, model))
                else:
                    item, judge = from_row(row, where)
                    model = item.response.model
                    rows.append(item)
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{file}: cannot be read: {error}; give a run folder or an evaluation file") from error
    if not rows:
        raise UserError(f"{file}: holds no judged instances")
    return model, judge, rows


def _parsed(line: str, where: str) -> dict[str, object]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise UserError(f"{where}: not JSON: {error}") from error
    if not isinstance(row, dict):
        raise UserError(f"{where}: not an object")
    return row


def without_doubles(judged: Sequence[Judged]) -> tuple[list[Judged], int]:
    """The rows with each instance once (its last row, at its first place), and how many rows were left out."""
    unique = {item.instance.id: item for item in judged}
    return list(unique.values()), len(judged) - len(unique)
