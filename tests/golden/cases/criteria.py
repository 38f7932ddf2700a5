"""`validate`: criteria and instructions with every kind of defect, a contradiction that is asked again, and nonsense."""

from __future__ import annotations

import json
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts
from tests.support.runs import row

_EMPTY: dict[str, Any] = {"errors": [], "excessive": [], "missing": [], "composite": []}


def _said(verdict: str, **lists: Any) -> str:
    return f"I looked at each.\n```json\n{json.dumps(_EMPTY | lists | {'verdict': verdict})}\n```"


def _write() -> None:
    rows("data", [
        row(1, [("Write three lines.", ["It has two lines.", "It rhymes and is polite."])]),
        row(2, [("A poem.", ["It is a poem."]), ("Now in German.", ["It is long."])], category="Translation"),
        row(3, [("Well?", ["It is fine."])]),
    ])  # fmt: skip
    wrong = {"criterion": 1, "why": "Three are asked for.", "instead": ["It has three lines."]}
    both = {"criterion": 2, "why": "Two things.", "instead": ["It rhymes.", "It is polite."]}
    long = {"criterion": 2, "why": "Nobody asks for length.", "instead": []}
    new = {"turn": 2, "why": "German is asked for.", "add": "It is in German."}
    unclear = {"turn": 1, "why": "What is asked?", "instead": "How are you?"}
    odd = _said("PASS", domain=[], task=[], clarity=[unclear])
    scripts({"validator": [
        {"contains": ["Well?", '"clarity"'], "reply": odd},
        {"contains": "`verdict` is PASS", "reply": odd.replace('"PASS"', '"FAIL"')},
        {"contains": '"clarity"', "reply": _said("PASS", domain=[], task=[], clarity=[])},
        {"contains": "Write three lines.", "reply": _said("FAIL", errors=[wrong], composite=[both])},
        {"contains": "A poem.", "reply": _said("FAIL", excessive=[long], missing=[new])},
    ]}, {"reply": "No idea."})  # fmt: skip


CASES = (
    Case(
        "criteria", _write,
        (
            "study validate --data data.jsonl --validator scripted:validator.json --out out",
            "study validate --data data.jsonl --validator scripted:validator.json --stage prompt --out prompts",
        ),
    ),
)  # fmt: skip
