"""`refine` and `best-of`: a response that is mended, one that cannot be rewritten, one without a checklist."""

from __future__ import annotations

from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import rows, said, scripts
from truebench_hf.data.judged import Case as Judged
from truebench_hf.prompts import sections

# The answers of each instruction in the order in which they are drawn; refinement takes the first one.
DRAWN = {
    "alfa": ["alfa zero", "alfa zero", "alfa one", "alfa one"],
    "bravo": ["bravo zero", "bravo zero", "bravo one", "bravo garbled"],
    "charlie": ["charlie zero", "charlie one", "charlie zero", "charlie one"],
}
LISTED = {"alfa": "Is it kind?\nIs it short?", "bravo": "Is it kind?\nIs it true?"}


def _write() -> None:
    found: list[dict[str, Any]] = [
        {"id": f"i-{word}", "prompt": f"Say {word}.", "category": "Two" if word == "alfa" else "One",
         "criteria": ["Does it say one?", f"Does it say {word}?"]}
        for word in DRAWN
    ]  # fmt: skip
    rows("data", [*found, {"id": "talk", "turns": ["One?", "Two?"], "criteria": [["Is it?"], ["Is it?"]]}])
    tag = "answer_" + sections(Judged("Say alfa.", "alfa zero", ()))["tag"]
    model: list[dict[str, Any]] = [
        {"contains": ["You prepare", f"\nSay {word}.\n</"], "reply": f"Analysis: plain.\nQuestions:\n{asked}"}
        for word, asked in LISTED.items()
    ]
    model += [
        {"contains": "You prepare", "reply": "no list"},
        {"contains": ["<criteria_", "\nbravo garbled\n"], "reply": "hard to say"},
        {"contains": ["<criteria_", "1. Is it short?", "\nalfa zero\n"], "reply": said("FAIL", before="It is long.")},
        {"contains": ["<criteria_", "1. Is it true?", "\nbravo zero\n"], "reply": said("FAIL")},
        {"contains": "<criteria_", "reply": said("PASS")},
        {"contains": ["You rate", " one\n"], "reply": 'Good.\n```json\n{"rating": 4}\n```'},
        {"contains": "You rate", "reply": 'Fair.\n```json\n{"rating": 3}\n```'},
        {"contains": ["You improve", "\nalfa zero\n"], "reply": f"Plan: shorter.\n<{tag}>\nalfa one\n</{tag}>"},
        {"contains": "You improve", "reply": "Plan: none.\nAnswer: bravo one"},
        {"contains": "You look critically", "reply": "It could be better."},
        *({"contains": f"Say {word}.", "reply": drawn} for word, drawn in DRAWN.items()),
    ]
    outside: list[dict[str, Any]] = [
        {"contains": ["1. Does it say one?", " zero\n"], "reply": said("FAIL")},
        {"contains": "<criteria_", "reply": said("PASS")},
    ]
    scripts({"model": model, "outside": outside}, {"reply": "?"})


_GIVEN = "--data data.jsonl --model scripted:model.json --outside drfr --outside-judge scripted:outside.json"
CASES = (
    Case(
        "refine", _write,
        (f"study refine {_GIVEN} --iterations 2 --out out", f"study refine {_GIVEN} --critique free --iterations 1 --out free"),
    ),
    Case("best-of", _write, (f"study best-of {_GIVEN} --n 3 --by stick --by direct --out out",)),
)  # fmt: skip
