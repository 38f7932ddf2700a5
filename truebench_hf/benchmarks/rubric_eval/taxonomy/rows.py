"""Rows of rubric_eval with the types that a sorting found, as arbitration leaves them: a file per split."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.taxonomy.scores import Sorted, dimension


def typed(rows: Sequence[Mapping[str, Any]], done: Sequence[Sorted]) -> list[dict[str, Any]]:
    """The rows, in order, with `rubric_type` and `dimension` where they had none: what the data knows before the model.

    A row whose rubric was not sorted stays without type (None).
    """
    kinds = {(item.entry.instruction_id, item.entry.rubric): item.entry.kind or item.kind for item in done}
    found = []
    for row in map(data.named, rows):
        kind = row.get("rubric_type") or kinds.get((data.instruction_id(row), row["rubric"]))
        its = row.get("dimension")
        its = dimension(kind) if kind and its is None else its  # 0 is a dimension: Parquet holds its number
        found.append({**row, "rubric_type": kind, "dimension": its})
    return found


def by_split(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """The rows as files `labels/SPLIT.jsonl`; `test` holds the rows that name no split."""
    splits: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        splits.setdefault(re.sub(r"\W+", "_", str(row.get("split") or "test")), []).append(row)
    return {f"labels/{split}.jsonl": group for split, group in splits.items()}
