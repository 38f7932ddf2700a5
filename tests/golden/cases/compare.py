"""`compare-criteria`: four types of criteria on three models' responses, before and after raters have been asked."""

from __future__ import annotations

from tests.golden.case import Case
from tests.golden.cases.inputs import fill, rows, said, scripts
from tests.support.runs import row

WORDS = ("alfa", "bravo", "delta", "echo")


def _rating(**values: int) -> str:
    return "As I see it.\n```json\n{" + ", ".join(f'"{key}": {value}' for key, value in values.items()) + "}\n```"


def _write() -> None:
    turns = [[(f"Say {word}.", [f"Says {word}", "Says no more"])] for word in WORDS[:3]]
    turns.append([("Say echo.", ["Says echo"]), ("Again.", ["Says echo"])])
    rows("data", [row(i, turn, category="Multi-Turn" if len(turn) > 1 else "Editing") for i, turn in enumerate(turns)])
    answers = [
        {"id": str(i), "model": model, "response": [text.format(word)] * (2 if word == "echo" else 1)}
        for model, text in (("plain", "{}"), ("wordy", "{}, of course"), ("lost", "what?"))
        for i, word in enumerate(WORDS)
    ]
    rows("responses", answers[:-1])  # of one response there is none
    skills = {"factuality": 5, "commonsense_understanding": 4, "comprehension": 5}
    judge = [
        {"contains": ["You rate what", "\nwhat?\n"], "reply": _rating(rating=3)},
        {"contains": ["You rate what", "of course"], "reply": _rating(rating=8)},
        {"contains": "You rate what", "reply": _rating(rating=9)},
        {"contains": ["You rate the skills", "Say delta"], "reply": "hard to say"},
        {"contains": ["You rate the skills", "consistency"], "reply": _rating(comprehension=4, factuality=4, consistency=5, final_score=5)},
        {"contains": ["You rate the skills", "\nwhat?\n"], "reply": _rating(**skills | {"comprehension": 1}, final_score=2)},
        {"contains": "You rate the skills", "reply": _rating(**skills, final_score=5)},
        {"contains": ["You rate how well", "\nwhat?\n"], "reply": _rating(criteria_1=1, criteria_2=5, final_score=2)},
        {"contains": "You rate how well", "reply": _rating(criteria_1=5, criteria_2=5, final_score=5)},
        {"contains": ["<criteria", "\nwhat?\n"], "reply": said("FAIL", "PASS")},
        {"contains": ["<criteria", "of course"], "verdicts": {"no more": "FAIL"}},
        {"contains": "<criteria", "verdicts": {}},
    ]  # fmt: skip
    scripts({"judge": judge}, {"reply": "?"})


_COMPARE = "study compare-criteria --data data.jsonl --responses responses.jsonl --judge scripted:judge.json --out out"

CASES = (
    Case(
        "compare-criteria", _write,
        (
            f"{_COMPARE} --estimate",
            _COMPARE,
            "label out out --annotators eva,jon,kim",
            fill("out/sheets/eva.csv", no=["of course", "what?"]),
            fill("out/sheets/jon.csv", no=["of course", "what?"], blank=["Say bravo"]),
            fill("out/sheets/kim.csv", no=["what?"]),
            "label in out",
            _COMPARE,  # which finds the labels in its folder
        ),
    ),
)  # fmt: skip
