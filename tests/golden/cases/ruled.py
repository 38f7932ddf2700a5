"""`rules`, and a run by what it wrote: a rule is stored, one is read, one is measured beside more, and one reading is none."""

from __future__ import annotations

import json
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts


def _said(complete: bool, *found: dict[str, Any]) -> str:
    return f"I looked.\n```json\n{json.dumps({'rules': found, 'complete': complete})}\n```"


def _write() -> None:
    count: dict[str, Any] = {"kind": "count", "unit": "words"}
    rows("data", [
        {"id": "river", "prompt": "Name a river.", "language": "EN", "criteria": [
            {"text": "It is brief: three words at the most.", "rule": count | {"max": 3}},
            "The reply is kind to readers in exactly two words.",
        ]},
        {"id": "lake", "prompt": "Name a lake.", "language": "EN", "criteria": [
            "The text of the reply never has more than 4 words.", "It names a lake.",
        ]},
    ])  # fmt: skip
    scripts({
        "model": [{"contains": "river", "reply": "The great river Rhine."}, {"contains": "lake", "reply": "Lake Garda."}],
        "reader": [
            {"contains": "kind to readers", "reply": _said(True, count | {"min": 2, "max": 2})},
            {"contains": "more than 4 words", "reply": _said(True, count | {"max": 5})},  # it says 4
            {"contains": "names a lake", "reply": _said(False)},
        ],
        "judge": [{"contains": "<criteria", "verdicts": {}}],
    })  # fmt: skip


CASES = (
    Case(
        "rules", _write,
        (
            "data rules --data data.jsonl --model scripted:reader.json --out found",
            "run --data found/data.jsonl --model scripted:model.json --judge scripted:judge.json --rules decide --out out",
        ),
    ),
)  # fmt: skip
