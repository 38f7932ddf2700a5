"""A piece of rubric_mini that is read at once, where it does not matter which rows a study is over."""

from __future__ import annotations

from pathlib import Path

from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.rubric_eval.mini import rows


def few(folder: Path, instructions: int = 12) -> str:
    """A file in `folder` with all rows of so many instructions; the same file whenever it is asked for."""
    every = rows()
    chosen = list(dict.fromkeys(row["instruction_id"] for row in every))[:instructions]
    return write_jsonl(folder / "few.jsonl", [row for row in every if row["instruction_id"] in chosen])
