"""`flex`: an instruction taken apart with a mistake on the way, conversations with two users, their scores, and people about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

from tests.golden.case import Case, run_command
from tests.golden.cases.inputs import fill, rows, scripts
from truebench_hf.benchmarks.flexbench.decomposition import CRITERIA
from truebench_hf.benchmarks.flexbench.procedure import Dimension, Procedure, as_yaml

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


HUMAN = {
    "travel": ["north: asks for a hotel?", "near: names a limit?", "east: reminds of the form?"],
    "refund": ["north: asks for the receipt?"],
    "weather": ["far: says where?", "east: says when?"],
}
OURS = {
    "travel": ["north: is a hotel asked about?", "far: is the limit of 140 named?"],
    "refund": ["east: is the customer greeted?", "near: is the receipt asked for?"],
}
# A question's vector, by its first word: cosines 1, 0.8, 0.6 and 0.
VECTORS = {"north": (1, 0), "near": (0.8, 0.6), "far": (0.6, 0.8), "east": (0, 1)}


def _vectors(texts: Sequence[str]) -> Any:
    import numpy as np

    return np.array([VECTORS[text.partition(":")[0]] for text in texts], dtype=np.float32)


def _write_decomposed() -> None:
    rows("human", [{"id": name, "instruction": f"Do {name}.", "questions": asked} for name, asked in HUMAN.items()])
    for name, asked in OURS.items():
        dimensions = tuple(Dimension(f"d{number}", question) for number, question in enumerate(asked, 1))
        place = Path("ours", "procedures", name)
        place.mkdir(parents=True)
        place.joinpath("procedure.yaml").write_text(
            as_yaml(Procedure(name, f"Do {name}.", dimensions)), encoding="utf-8"
        )
    first = json.dumps(dict.fromkeys(CRITERIA, "A"))
    scripts({"judge": [{"contains": ["Do refund."], "reply": f"List A.\n```json\n{first}\n```"}]}, {
        "reply": f"Alike.\n```json\n{json.dumps(dict.fromkeys(CRITERIA, 'TIE') | {'overall': 'B'})}\n```"})  # fmt: skip


def _decompose(options: str) -> Callable[[], str]:
    """A step: the command with vectors of our own in place of those of a model that would have to be fetched."""

    def step() -> str:
        with mock.patch("truebench_hf.benchmarks.flexbench.decomposition.embed", _vectors):
            return run_command(f"flex study decompose ours --human human.jsonl {options}")

    return step


CASES = (
    Case("flex-decompose", _write_decomposed, (
        _decompose("--judge scripted:judge.json --out out"),
        _decompose("--out alone"),
    )),
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
