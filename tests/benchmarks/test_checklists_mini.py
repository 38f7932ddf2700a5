"""The 28 constructed rows of checklists: shape, preferences, and answers that a program can prove."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from tests.support.corpus import table
from tests.support.faults import faults, listed
from truebench_hf.data.checklist_rows import read
from truebench_hf.data.rows import Record
from truebench_hf.metrics.preference import preference_from_ratings

TEXT = (files("truebench_hf.data") / "checklists_mini.jsonl").read_text(encoding="utf-8")
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TEXT.splitlines()]
RICH = [row for row in ROWS if len(row["checklists"]) > 1]


def asked(row: dict[str, Any]) -> str:
    return str(row["messages"][-1]["content"])


def settled(row: dict[str, Any]) -> list[list[str]]:
    """What most annotators answer to the chosen checklist, on response A and on response B."""
    entry = read(Record(row["id"], row))
    assert entry.chosen
    return [[str(label) for label in entry.people(response, entry.chosen) or ()] for response in entry.responses]


def pass_rates(row: dict[str, Any]) -> tuple[float, float]:
    """The share of yes of response A and of response B."""
    first, second = (Counter(answers)["yes"] / len(answers) for answers in settled(row))
    return first, second


def test_the_set_is_28_rows_13_of_them_english() -> None:
    assert [row["id"] for row in ROWS] == [f"tick-mini-{number:02}" for number in range(1, 29)]
    languages = Counter(row["language"] for row in ROWS)
    assert languages["EN"] == 13
    assert len(languages) >= 8
    assert len({row["category"] for row in ROWS}) >= 6
    assert len({asked(row) for row in ROWS}) == 28
    assert sum(len(row["messages"]) > 1 for row in ROWS) == 2, "conversations"
    assert len(RICH) == 14


def questions_are_yes_no_questions_and_all_answered(row: dict[str, Any]) -> None:
    for checklist in row["checklists"]:
        questions = checklist["questions"]
        assert len(set(questions)) == len(questions)
        assert not [one for one in questions if one[-1] not in "?？"]
    questions = row["checklists"][0]["questions"]
    assert 3 <= len(questions) <= 7
    if row["id"] not in ("tick-mini-27", "tick-mini-28"):  # whose checklists are Japanese and Chinese
        assert not [one for one in questions if not re.match(r"(?:Is|Are|Does|Do|Has|Have) .+\?$", one)]
    for answers in settled(row):
        assert len(answers) == len(questions)
        assert set(answers) <= {"yes", "no"}


def the_preference_follows_the_pass_rates(row: dict[str, Any]) -> None:
    """Exactly where it is constructed; where people rated, on the same side."""
    assert {(one["response_a"], one["response_b"]) for one in row["preferences"]} == {
        tuple(response["id"] for response in row["responses"])
    }
    first, second = pass_rates(row)
    gap, ratings = second - first, [one["rating"] for one in row["preferences"]]
    expected = 3 if gap == 0 else 3 + (2 if abs(gap) >= 0.5 else 1) * (1 if gap > 0 else -1)
    if len(row["checklists"]) == 1:
        assert ratings == [expected]
    else:
        assert preference_from_ratings(ratings) == ("win" if gap < 0 else "loss")


def test_the_better_side_alternates_and_all_ratings_occur() -> None:
    """A judge that always prefers one position gets no credit for it."""
    sides = [preference_from_ratings([one["rating"] for one in row["preferences"]]) for row in ROWS]
    assert all(left != right for left, right in itertools.pairwise(side for side in sides if side != "tie"))
    assert {one["rating"] for row in ROWS for one in row["preferences"]} == {1, 2, 3, 4, 5}


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


def is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def items(text: str) -> list[dict[str, str]]:
    """The JSON list inside a text, whatever stands around it."""
    inside: list[dict[str, str]] = json.loads(text[text.index("[") : text.rindex("]") + 1])
    return inside


def clock(text: str) -> list[tuple[int, int]]:
    """Start and end of every line of a schedule, in minutes."""
    spans = re.findall(r"^(\d+):(\d+)-(\d+):(\d+)", text, re.M)
    return [(int(a) * 60 + int(b), int(c) * 60 + int(d)) for a, b, c, d in spans]


PHONES = {"王芳": "3102", "李强": "3188", "陈静": "3155"}
KNOWN: dict[str, Callable[[str], bool]] = {
    "json": is_json,
    "last part of 75 minutes": lambda text: clock(text)[3][1] - clock(text)[3][0] == 75,
    "parts that follow each other": lambda text: all(a[1] == b[0] for a, b in itertools.pairwise(clock(text))),
    "from 9 to 12": lambda text: (clock(text)[0][0], clock(text)[-1][1]) == (540, 720),
    "at most 25 words without signs": lambda text: len(re.findall(r"\w+", text)) <= 25,
    "first three lines in order": lambda text: lines(text)[:3] == sorted(lines(text)[:3]),
    "reasons of at most five words": lambda text: all(len(why.split()) <= 5 for why in re.findall(r"\((.+)\)", text)),
    "names and phones alone": lambda text: all(set(item) == {"name", "phone"} for item in items(text)),
    "right phones": lambda text: {item["name"]: item["phone"] for item in items(text)} == PHONES,
    "two ends of sentences": lambda text: len(re.findall(r"[.!?](?:\s|$)", text)) == 2,
}
COUNTS: dict[str, Callable[[str], int]] = {
    "lines": lambda text: len(lines(text)), "words": lambda text: len(text.split()), "signs": len,
    "sentences": lambda text: len(re.findall(r"[.!?。！？]", text)),
}  # fmt: skip


def holds(kind: str, what: Any, text: str) -> bool:
    """Whether a response is as a line of the proofs says."""
    if kind in COUNTS:
        least, _, most = str(what).partition("-")
        return int(least) <= COUNTS[kind](text) <= int(most or least)
    if kind == "finds":
        return [word.lower() for word in re.findall(what[0], text)] == what[1:]
    checks: dict[str, Callable[[], bool]] = {
        "is": lambda: KNOWN[what](text),
        "has": lambda: all(re.search(pattern, text) for pattern in what),
        "lacks": lambda: not any(re.search(pattern, text) for pattern in what),
        "each": lambda: all(re.match(what, line) for line in lines(text)),
    }
    return checks[kind]()


PROOFS: list[tuple[str, int, Callable[[str], bool]]] = [
    (name, place, lambda text, rules=rules: all(holds(kind, what, text) for kind, what in rules.items()))
    for name, questions in table(__file__, "checklists_mini_proofs").items()
    for place, rules in questions.items()
]


def answers_that_a_program_can_prove(row: dict[str, Any]) -> None:
    wrong = [
        f"{response['id']}, question {index + 1}"
        for response, answers in zip(row["responses"], settled(row), strict=True)
        for name, index, proof in PROOFS
        if name == row["id"] and proof(response["text"]) != (answers[index] == "yes")
    ]
    assert not wrong


def test_every_row_is_sound() -> None:
    found = faults(
        {row["id"]: row for row in ROWS},
        questions_are_yes_no_questions_and_all_answered, the_preference_follows_the_pass_rates,
        answers_that_a_program_can_prove,
    )  # fmt: skip
    assert not found, listed(found)
