"""`checklist validate`, `checklist categories` and checklists answered by people: lists that are written or not, open questions, annotators who differ."""

from __future__ import annotations

import json
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import fill, rows, said, scripts

QUESTIONS = ["Is it kind?", "Is it short?"]


def _row(word: str, answers: dict[str, list[str | None]]) -> dict[str, Any]:
    about = {"response_id": "r", "checklist_id": "c1"}
    return {
        "id": f"i-{word}", "language": "EN", "category": "One",
        "messages": [{"role": "user", "content": f"Say {word}."}],
        "responses": [{"id": "r", "model": "m", "text": f"Answer {word}"}],
        "checklists": [
            {"id": "c1", "author": "ada", "source": "human", "run": 1, "chosen": True, "questions": QUESTIONS},
            {"id": "c2", "author": "bo", "source": "human", "run": 1, "chosen": False, "questions": ["Is it kind and short?"]},
        ],
        "categories": [
            {"checklist_id": "c1", "annotator": name, "categories": [["Tone"], ["Length", *more]]}
            for name, more in (("ada", ["Concision"]), ("bo", []))
        ],
        "answers": [{**about, "annotator": name, "answers": labels} for name, labels in answers.items()],
        "ratings": [{"response_id": "r", "annotator": "ada", "protocol": "direct", "score": len(word)}],
    }  # fmt: skip


def _write() -> None:
    rows(
        "data",
        [
            _row("alfa", {"ada": ["yes", "yes"], "bo": ["yes", "no"], "cy": ["yes", "no"]}),
            _row("kilo", {"ada": ["yes", None], "bo": ["no", "yes"]}),
            _row("zulu", {}),
        ],
    )
    asked = {"alfa": ["Is it kind?", "Is it long?"], "kilo": ["Is it kind?", "Is it short?", "Does it say kilo?"]}
    written = [
        {"contains": f"Say {word}.", "reply": "\n".join(["Analysis: plain.", "Questions:", *lines])}
        for word, lines in asked.items()
    ]
    judged: list[dict[str, Any]] = [
        {"contains": ["Answer kilo", "1. Is it short?"], "reply": "hard to say"},
        {"contains": ["1. Is it short?", "Give no reasons"], "reply": said("PASS")},
        {"contains": ["1. Is it short?"], "reply": said("FAIL")},
        {"contains": ["<criteria"], "reply": said("PASS")},
    ]
    named = {"kind?": ["Tone"], "short?": ["Concision", "Length"]}
    sorted_ = [
        {"contains": f"\nIs it {word}\n", "reply": f"So.\n```json\n{json.dumps({'categories': names})}\n```"}
        for word, names in named.items()
    ]
    scripts({"writer": written, "judge": judged, "sorter": sorted_}, {"reply": "?"})


CASES = (
    Case(
        "validate", _write,
        (
            "study checklist validate --data data.jsonl --generator scripted:writer.json --judge scripted:judge.json --votes 3 "
            "--out out",
            "study checklist validate --data out/rows.jsonl --out again",
        ),
    ),
    Case(
        "annotate", _write,
        (
            "label out data.jsonl --annotators eva,jon --out asked",
            fill("asked/eva.csv", no=["kilo"]),
            fill("asked/jon.csv", no=["short?"], blank=["zulu"]),
            "label in data.jsonl asked --out answered/data.jsonl",
            "label in answered/data.jsonl",
        ),
    ),
    Case("categories", _write, ("study checklist categories --data data.jsonl --model scripted:sorter.json --out out",)),
)  # fmt: skip
