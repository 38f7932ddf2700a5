"""A run as plain tables: `scores`, a line per score, and `verdicts`, a line per criterion of every response."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.errors import write_error
from truebench_hf.exports.files import put
from truebench_hf.exports.run import Answered, Exported
from truebench_hf.metrics.pass_rate import outcome
from truebench_hf.report.csv_table import guard
from truebench_hf.text.terminal import how_many

SCORES = ("kind", "model", "data", "score", "title", "value", "low", "high", "n", "unscored", "how")
VERDICTS = (
    "model", "id", "sample", "language", "category", "task", "turn", "prompt", "response", "criterion_number", "criterion",
    "kind", "condition", "weight", "label", "met", "reason", "judge", "probability", "conflicting", "response_score",
    "error",
)  # fmt: skip


def tables(run: Exported) -> dict[str, tuple[Sequence[str], list[dict[str, Any]]]]:
    """(columns, rows) by table. `value`, `low` and `high` are shares (0 to 1) where scores are. `met` is whether the
    criterion is as it should be: of a fault whether it is absent; empty where that is undecided."""
    found: dict[str, tuple[Sequence[str], list[dict[str, Any]]]] = {"scores": (SCORES, list(_scores(run)))}
    if run.responses:
        rows = [row for its in run.responses.values() for one in its for row in _verdicts(one)]
        found["verdicts"] = (VERDICTS, rows)
    return found


def write_csv(run: Exported, out: Path) -> dict[Path, str]:
    """CSV files that a spreadsheet program opens, and runs nothing of."""
    made = {}
    for name, (columns, rows) in tables(run).items():
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows([guard("" if row[column] is None else row[column]) for column in columns] for row in rows)
        put(out / f"{name}.csv", text.getvalue())
        made[out / f"{name}.csv"] = how_many(len(rows), "row")
    return made


def write_parquet(run: Exported, out: Path) -> dict[Path, str]:
    """Parquet files with typed columns."""
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    kinds = dict.fromkeys(("sample", "turn", "criterion_number", "n", "unscored"), pa.int64())
    kinds |= dict.fromkeys(("value", "low", "high", "weight", "probability", "response_score"), pa.float64())
    kinds |= dict.fromkeys(("met", "conflicting"), pa.bool_())
    made = {}
    for name, (columns, rows) in tables(run).items():
        path = out / f"{name}.parquet"
        schema = pa.schema([(column, kinds.get(column, pa.string())) for column in columns])
        try:
            out.mkdir(parents=True, exist_ok=True)
            part = path.with_name(f"{path.name}.part")
            pq.write_table(pa.Table.from_pylist([_whole(row) for row in rows], schema), part)
            part.replace(path)
        except OSError as error:
            raise write_error(str(path), error) from error
        made[path] = how_many(len(rows), "row")
    return made


def _whole(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: v.encode("utf-8", "replace").decode() if isinstance(v, str) else v for k, v in row.items()}


def _scores(run: Exported) -> Iterator[dict[str, Any]]:
    for model, scores in run.scores.items():
        for one in scores:
            low, high = one.score.ci95 or (None, None)
            how = "; ".join(f"{name}: {value}" for name, value in one.facts.items())
            told = {
                "kind": run.kind,
                "model": model,
                "data": run.data,
                "score": one.name,
                "title": one.title,
                "how": how,
            }
            yield told | {
                "value": one.score.value, "low": low, "high": high, "n": one.score.n, "unscored": one.score.unscored,
            }  # fmt: skip


def _verdicts(one: Answered) -> Iterator[dict[str, Any]]:
    instance, response = one.judged.instance, one.judged.response
    first = one.messages[one.opening - 1].content
    shared = {
        "model": response.model, "id": instance.id, "sample": response.sample, "language": instance.language,
        "category": instance.category, "task": instance.task, "response_score": one.score, "error": response.error,
    }  # fmt: skip
    for place, verdicts in enumerate(one.judged.verdicts):
        turn = instance.turns[place]
        asked = first if place == 0 else turn.prompt
        answer = response.answers[place] if place < len(response.answers) else None
        for number, verdict in enumerate(verdicts, 1):
            criterion = verdict.criterion
            label = outcome(verdict.label, criterion.weight)
            yield shared | {
                "turn": place + 1, "prompt": asked, "response": answer, "criterion_number": number,
                "criterion": criterion.text, "kind": criterion.kind, "condition": criterion.condition,
                "weight": criterion.weight, "label": verdict.label,
                "met": label == "yes" if label in ("yes", "no") else None, "reason": verdict.reason,
                "judge": verdict.judge, "probability": verdict.probability, "conflicting": verdict.conflicting,
            }  # fmt: skip
