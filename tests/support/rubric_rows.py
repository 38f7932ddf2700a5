"""A piece of rubric_mini that is read at once, where it does not matter which rows a study is over."""

from __future__ import annotations

import functools
from pathlib import Path

from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.rubric_eval.data import mini_rows as rows


def few(folder: Path, instructions: int = 4) -> str:
    """A file in `folder` with all rows of so many instructions; the same file whenever it is asked for."""
    file = folder / "few.jsonl"
    return str(file) if file.exists() else write_jsonl(file, _chosen(instructions))


@functools.cache
def _chosen(instructions: int) -> list[dict[str, object]]:
    mini = rows()
    names = list(dict.fromkeys(row["instruction_id"] for row in mini))[:instructions]
    return [row for row in mini if row["instruction_id"] in names]
