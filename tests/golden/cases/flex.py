"""`flex`: an instruction taken apart with a mistake on the way, conversations with two users, their scores, and people about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.golden.case import Case
from tests.golden.cases.inputs import fill, rows, scripts

ASK, LIMIT, FORM = (
    "Ask whether a hotel is needed.",
    "Needed: name the limit of 140 euros.",
    "Not needed: remind of the form.",
)
DIMENSIONS = [
    {"question": "Does the assistant ask whether a hotel is needed?", "segments": ["s1"]},
    {"question": "When a hotel is needed, does the assistant name the limit of 140 euros?", "condition": "A hotel is needed",
     "segments": ["s2"]},
    {"question": "When no hotel is needed, does the assistant remind of the form?", "condition": "No hotel is needed",
     "segments": ["s3"]},
]  # fmt: skip
BEHAVIOUR = {"communication_style": "Curt.", "information_disclosure": "Little.", "problem_solving": "Asks why.",
             "catchphrases": ["What does it cost?"]}  # fmt: skip
PROFILE: dict[str, Any] = {key: value for key, value in BEHAVIOUR.items() if key != "catchphrases"} | {
    "summary": "Busy."
}


def _facts(applies: str, attempted: str | None = None, correct: str | None = None) -> str:
    told = {"turn": 1, "applies": applies, "attempted": attempted, "correct": correct}
    return f"As said there.\n```json\n{json.dumps(told)}\n```"


def _write() -> None:
    Path("travel.md").write_text(f"Opening: Hello, travel desk.\n{ASK}\n- {LIMIT}\n- {FORM}\n", encoding="utf-8")
    listed = json.dumps({"dimensions": DIMENSIONS})
    invented = json.dumps({"dimensions": [DIMENSIONS[0] | {"question": "Does it offer 90 euros?"}, *DIMENSIONS[1:]]})
    lacking = {"missing": ["the form"], "duplicates": [], "invented": [], "unverifiable": []}
    groups = {"groups": [{"base": "d1", "branches": ["d2", "d3"], "exclusive": [["d2", "d3"]]}]}
    segments = {"opening": "Hello, travel desk.", "segments": [ASK, LIMIT, FORM]}
    built: list[dict[str, Any]] = [
        {"contains": "You take an instruction", "reply": json.dumps(segments)},
        {"contains": "You turn the segments", "reply": invented},
        {"contains": "Give all of it again", "reply": listed},
        {"contains": "You verify", "reply": [json.dumps(lacking), json.dumps(lacking | {"missing": []})]},
        {"contains": "You find the branches", "reply": json.dumps(groups)},
    ]
    users: list[dict[str, Any]] = [
        {"contains": ["Grade how", "No."], "reply": '{"reason": "Curt.", "cooperativeness": 2}'},
        {"contains": "Grade how", "reply": "Hm."},
        {"contains": "From conversations", "reply": json.dumps(PROFILE)},
        {"contains": "Somebody is going to play", "reply": json.dumps({"context": "a call", "topics": ["hotels"]})},
        {"contains": "You fit the description", "reply": json.dumps(BEHAVIOUR)},
        {"contains": ["A user talks with", "140"], "reply": '{"end": "assistant"}'},
        {"contains": "A user talks with", "reply": '{"end": "no"}'},
        {"contains": "hotel?", "reply": "Yes, please."},
        {"contains": "Hello", "reply": "Who is this?"},
    ]
    judged: list[dict[str, Any]] = [
        {"contains": ["<requirement", "ask whether"], "reply": _facts("yes", "yes", "yes")},
        {"contains": ["<requirement", "name the limit"], "reply": _facts("yes", "yes", "no")},
        {"contains": ["<requirement", "remind"], "reply": [_facts("no", "yes"), _facts("no")]},
    ]
    assistant = [{"contains": "Yes, please.", "reply": "Up to 140 euros."}, {"contains": "", "reply": "A hotel?"}]
    scripts({"builder": built, "users": users, "judge": judged, "assistant": assistant}, {"reply": listed})
    rows("people", [
        {"messages": [{"role": "assistant", "content": "A hotel?"}, {"role": "user", "content": said}]}
        for said in ("No.", "Perhaps.")
    ])  # fmt: skip


CASES = (
    Case("flex", _write, (
        "flex build travel.md --builder scripted:builder.json --out out",
        "flex simulate out --model scripted:assistant.json --simulator scripted:users.json --conversations 2 --out talks",
        "flex score out --conversations talks/conversations.jsonl --judge scripted:judge.json --out scored",
        "flex study profiles --dialogues people.jsonl --model scripted:users.json --out people",
        "label out scored --annotators eva,jon",
        fill("scored/sheets/eva.csv", no=["140"]),
        fill("scored/sheets/jon.csv", no=["140", "remind"], blank=["ask whether"]),
        "label in scored",
        "flex study agree scored --crowd scored/sheets/jon.csv",
    )),
)  # fmt: skip
