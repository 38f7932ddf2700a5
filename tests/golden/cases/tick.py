"""`tick` and `checklist`: written, given and edited checklists, answers that fail, questions that stay open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, said, scripts

WORDS = ("alfa", "bravo", "charlie", "delta")
ASKED = {"alfa": ["Is it kind?", "Is it short?"], "bravo": ["Is it kind?", "¿Es corto?", "짧은가?"], "charlie": []}


def _write() -> None:
    found: list[dict[str, Any]] = [
        {"id": f"i-{word}", "prompt": f"Say {word}.", "category": "One" if word < "c" else "Two"} for word in WORDS
    ]
    found[3] |= {"criteria": ["Is it true?", {"text": "Is it rude?", "weight": -1}], "system": "Be brief."}
    rows("data", [*found, {"id": "talk", "turns": ["One?", "Two?"]}])
    answers = {"one": {}, "two": {"alfa": "garbled alfa"}}
    responses = [
        found[3] | {"response": f"{model} delta", "model": model} for model in ("one", "two")
    ] + [found[3] | {"id": "i-again", "response": "rude delta", "model": "one"}]  # fmt: skip
    rows("responses", responses)
    written: list[dict[str, Any]] = [
        {
            "contains": ["You prepare", f"\nSay {word}.\n</"],
            "reply": "\n".join(["Analysis: plain.", "Questions:", *asked]),
        }
        for word, asked in ASKED.items()
    ]
    judged: list[dict[str, Any]] = [
        {"contains": ["\ngarbled alfa\n", "1. Is it short?"], "reply": "hard to say"},
        {"contains": ["\ntwo bravo\n", "1. 짧은가?"], "reply": said("FAIL")},
        {"contains": ["1. Is it rude?", "\nrude delta\n"], "reply": said("PASS")},
        {"contains": ["1. Is it rude?"], "reply": said("FAIL")},
        {"contains": ["<criteria"], "reply": said("PASS")},
    ]
    models: dict[str, list[dict[str, Any]]] = {}
    for model, others in answers.items():
        models[model] = [{"contains": f"Say {word}.", "reply": others.get(word, f"{model} {word}")} for word in WORDS]
    models["two"].insert(0, {"contains": "Say delta.", "error": "out of paper"})
    scripts({"writer": written, "judge": judged, **models}, {"reply": "?"})


def _edit() -> None:
    file = Path("out/checklists.jsonl")
    lines = [json.loads(line) for line in file.read_text("utf-8").split("\n") if line]
    lines[2] = lines[2] | {"criteria": ["Is it about charlie?"]}
    file.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")


_TICK = (
    "tick --data data.jsonl --model scripted:one.json --model scripted:two.json --generator scripted:writer.json "
    "--judge scripted:judge.json --out out"
)
CASES = (
    Case("tick", _write, (_TICK, _edit, _TICK, f"{_TICK} --checklists out/checklists.jsonl")),
    Case(
        "checklist", _write,
        (
            "study checklist generate --data data.jsonl --model scripted:writer.json --out written",
            "study checklist generate --instruction 'Say alfa.' --model scripted:writer.json --out one",
            "study checklist score --data responses.jsonl --judge scripted:judge.json --out scored",
        ),
    ),
)  # fmt: skip
