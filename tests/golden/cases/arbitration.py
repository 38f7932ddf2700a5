"""`arbitrate` and its sheets: every exit of the funnel, validation, and answers asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import fill, rows
from tests.support.arbitration import JUDGES, TABLE, panel_specs, table_rows

PANEL = " ".join(f"--judge scripted:{name}.json" for name in JUDGES)
PANEL += " --meta-judge scripted:mia.json --meta-judge scripted:max.json"


def _write() -> None:
    panel_specs(Path())
    rows("data", table_rows())
    gold = ["yes", "no"] * len(TABLE)
    rows("trusted", [row | {"label": label} for row, label in zip(table_rows(), gold, strict=False)])
    rows("unanswered", [_source("a", "Do it."), _source("b", "It is broken.")])


def _source(name: str, instruction: str) -> dict[str, Any]:
    """A record of InFoBench, which has no responses."""
    rubrics = ["all pass alike", "three against one"]
    kinds = {"subset": "Hard_set", "category": "c", "question_label": [["Number"], ["Style"]]}
    return kinds | {"id": name, "input": "Text.", "instruction": instruction, "decomposed_questions": rubrics}


CASES = (
    Case(
        "arbitrate", _write,
        (
            f"study arbitrate --data data.jsonl {PANEL} --reference trusted.jsonl --out out",
            "label out out --annotators eva,jon",
            fill("out/sheets/eva.csv", no=["settled against the majority"]),
            fill("out/sheets/jon.csv", no=["settled against the majority", "two against two"]),
            "label in out out/sheets/eva.csv out/sheets/jon.csv",
            f"study arbitrate --data infobench:unanswered.jsonl {PANEL} --responder scripted:writer.json --out asked",
        ),
    ),
)  # fmt: skip
