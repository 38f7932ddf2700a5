"""`refine-criteria`: one criterion is unclear, one missing, one too strict; the validator is content in the second round."""

from __future__ import annotations

import json
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import edit, rows, scripts

_EMPTY: dict[str, Any] = {"errors": [], "excessive": [], "missing": [], "composite": []}
_BAD = ("Hey you.", "One line.", "dog")


def _said(verdict: str, **lists: Any) -> str:
    return f"I looked.\n```json\n{json.dumps(_EMPTY | lists | {'verdict': verdict})}\n```"


def _write() -> None:
    rows("data", [
        {"id": "greet", "prompt": "Greet the customer.", "criteria": ["It greets nicely."], "language": "EN"},
        {"id": "lines", "prompt": "Write three lines.", "criteria": ["It is about rain."], "language": "EN"},
        {"id": "colour", "prompt": "Name a colour.", "criteria": ["It names a colour.", "=It is in capitals."], "language": "EN"},
    ])  # fmt: skip
    answers = [
        ("Greet", "Hey you.", "Dear customer."),
        ("three lines", "One line.", "1\n2\n3"),
        ("colour", "blue", "dog"),
    ]
    long = {"criterion": 2, "why": "Three is the number.", "instead": ["It has exactly three lines."]}
    scripts({
        "one": [{"contains": key, "reply": first} for key, first, _ in answers],
        "other": [{"contains": key, "reply": second} for key, _, second in answers],
        "judge": [
            {"contains": "Hey you.", "verdicts": {"polite": "FAIL"}}, {"contains": "One line.", "verdicts": {"three": "FAIL"}},
            {"contains": "blue", "verdicts": {"capitals": "FAIL"}}, {"contains": "dog", "verdicts": {"colour": "FAIL"}},
            {"contains": "<criteria", "verdicts": {}},
        ],
        "validator": [
            {"contains": "It has three lines.", "reply": _said("FAIL", errors=[long])},
            {"contains": "", "reply": _said("PASS")},
        ],
    })  # fmt: skip


_CHANGES = {
    "Greet": ("criterion 1: unclear", "It is polite."),
    "lines": ("turn 1: missing", "It has three lines."),
    "colour": ("criterion 2: too strict", "remove"),
}


def _decide(row: dict[str, str]) -> dict[str, str]:
    decided = next(change for key, change in _CHANGES.items() if key in row["Conversation"])
    return dict(zip(("answer", "note"), decided, strict=True))


_RUN = (
    "study refine-criteria --data data.jsonl --model scripted:one.json --model scripted:other.json --judge scripted:judge.json "
    "--validator scripted:validator.json --out out"
)

CASES = (
    Case(
        "refinement", _write,
        (
            _RUN,
            "label out out",
            edit("out/sheets/A.csv", lambda row: {"answer": "fail" if row["Response"] in _BAD else "pass"}),
            "label in out",
            _RUN,
            "label out out --annotators eva",
            edit("out/sheets/revisions_1/eva.csv", _decide),
            "label in out",
            _RUN,
            "label out out --annotators eva",
            edit("out/sheets/revisions_2/eva.csv", lambda row: {"answer": "accept"}),
            "label in out",
            _RUN,
        ),
    ),
)  # fmt: skip
