"""All that a benchmark of one's own is made of, behind one import line: see docs/add_a_benchmark.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.cli.application import application
from truebench_hf.data import row_files
from truebench_hf.errors import UserError
from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.pass_rate import clustered_rate, pass_rate
from truebench_hf.models.asking import Problem, ask
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.options import Binds, option, role
from truebench_hf.report.table import Column, Table
from truebench_hf.study.items import Items
from truebench_hf.study.options import LabellingOptions, PanelOptions, StudyOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.study.ranking import Ranking
from truebench_hf.study.study import Study
from truebench_hf.types import Criterion, Instance, Message, Response, Score, Verdict

__all__ = (
    "Binds", "ChatRequest", "Column", "Criterion", "Instance", "Items", "LabellingOptions", "Message", "Outcome",
    "PanelOptions", "Problem", "Ranking", "Response", "Row", "Sampling", "Score", "Sequence", "Study", "StudyOptions",
    "Table", "UserError", "Verdict", "agreement", "application", "ask", "clustered_rate", "dataclass", "option",
    "pass_rate", "read_rows", "role",
)  # fmt: skip

Row = dict[str, Any]


def read_rows(path: str) -> list[Row]:
    """Return the rows of a JSONL, CSV, Excel or Parquet file. Raises UserError with the file and what is wrong there."""
    return [dict(record.row) for record in row_files.records(Path(path))]
