"""`pairwise`: every protocol on pairs of two subsets, by a judge that goes by the place."""

from __future__ import annotations

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, scripts

# Two good responses, one of them second; a tie by ratings; a row nobody labelled.
PAIRS = [
    {"id": "one", "prompt": "Say alfa.", "response_a": "alfa", "response_b": "bravo", "label": "A", "subset": "words"},
    {"id": "two", "prompt": "Say delta.", "response_a": "echo", "response_b": "delta", "label": "B", "subset": "words"},
    {
        "id": "three",
        "prompt": "Greet.",
        "response_a": "Hi",
        "response_b": "Hello",
        "ratings": [2, 3, 4],
        "subset": "talk",
    },
    {"id": "four", "prompt": "Part.", "response_a": "Bye", "response_b": "So long", "label": ""},
]


def _write() -> None:
    rows("data", PAIRS)
    judge = [
        {"contains": "You compare two responses", "reply": 'The first.\n```json\n{"preference": "A"}\n```'},
        {"contains": ["You rate", "\nbravo\n"], "reply": "hard to say"},
        {"contains": ["You rate", "\nalfa\n"], "reply": '{"rating": 5}'},
        {"contains": "You rate", "reply": '{"rating": 3}'},
        {"contains": "<criteria", "verdicts": {}},
    ]
    writer = [{"contains": "You prepare", "reply": "Analysis: short.\nQuestions:\nIs it said?\nIs it said?\nYes.\n"}]
    scripts({"judge": judge, "writer": writer}, {"reply": "?"})


CASES = (
    Case(
        "pairwise", _write,
        (
            "study pairwise --data data.jsonl --judge scripted:judge.json --generator scripted:writer.json --out out",
        ),
    ),
)  # fmt: skip
