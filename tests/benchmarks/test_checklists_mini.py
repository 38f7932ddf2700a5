"""The 28 constructed rows of checklists: shape, preferences, and answers that a program can prove."""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from importlib.resources import files
from typing import Any

from tests.support.faults import broken, faults, listed
from truebench_hf.benchmarks.tick.categories import schemes
from truebench_hf.data.checklist_rows import read
from truebench_hf.data.rows import Record
from truebench_hf.metrics.preference import preference_from_ratings

TEXT = (files("truebench_hf.data") / "checklists_mini.jsonl").read_text(encoding="utf-8")
ROWS: list[dict[str, Any]] = [json.loads(line) for line in TEXT.splitlines()]
BY_ID = {row["id"]: row for row in ROWS}
COLUMNS = {
    "id": str, "language": str, "category": str, "messages": list, "responses": list, "checklists": list,
    "categories": list, "answers": list, "judgments": list, "preferences": list, "ratings": list, "label_source": str,
}  # fmt: skip
PEOPLE = ["ada", "bo", "cy"]
RICH = [row for row in ROWS if len(row["checklists"]) > 1]
SCRIPTS = {
    "KO": r"[가-힣]", "JA": r"[ぁ-んァ-ン]", "ZH": r"[\u4e00-\u9fff]", "RU": r"[а-яё]", "VI": r"[ăđơưạảấầậắếềệịọốộờủứ]",
    "DE": r"\b(?:der|die|das|dem|und)\b", "FR": r"\b(?:le|la|et|en|une)\b", "ES": r"\b(?:los|las|del|por|una)\b",
    "IT": r"\b(?:il|che|di|senza|questa)\b", "PT": r"[ãõç]", "PL": r"[łżśąęć]", "EN": r"\b(?:the|this|a|of)\b",
}  # fmt: skip


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


def columns_and_nested_records(row: dict[str, Any]) -> None:
    assert {name: type(value) for name, value in row.items()} == COLUMNS
    assert row["label_source"] == "constructed"
    names = [f"{row['id']}-a", f"{row['id']}-b"]
    assert [response["id"] for response in row["responses"]] == names
    assert [set(response) for response in row["responses"]] == [{"id", "model", "text"}] * 2
    assert {response["model"] for response in row["responses"]} == {"constructed"}
    assert row["responses"][0]["text"] != row["responses"][1]["text"]
    assert (row["checklists"][0]["id"], row["checklists"][0]["author"]) == ("c1", "construction")
    assert [checklist["chosen"] for checklist in row["checklists"]] == [True] + [False] * (len(row["checklists"]) - 1)
    annotators = PEOPLE if len(row["checklists"]) > 1 else ["construction"]
    said = [(entry["response_id"], entry["annotator"]) for entry in row["answers"] if entry["checklist_id"] == "c1"]
    assert said == [(name, annotator) for name in names for annotator in annotators]


def a_rich_row_has_every_part(row: dict[str, Any]) -> None:
    """Two alternatives by people, two runs of a generator, three annotators of everything, and a judge."""
    if len(row["checklists"]) == 1:
        assert [row["categories"], row["judgments"], row["ratings"]] == [[], [], []]
        return
    assert [(one["source"], one["run"]) for one in row["checklists"]] == [("human", 1)] * 3 + [
        ("model", 1),
        ("model", 2),
    ]
    assert [one["annotator"] for one in row["categories"]] == PEOPLE
    assert {name for one in row["categories"] for names in one["categories"] for name in names} <= set(
        schemes()["internal"]
    )
    drawn = Counter((one["checklist_id"], one["mode"]) for one in row["judgments"])
    assert drawn == {(name, mode): n for name in ("c1", "g1") for mode, n in (("direct", 2), ("reasoning", 6))}
    assert Counter(one["protocol"] for one in row["ratings"]) == {"direct": 6, "check_then_score": 6}
    assert all((one["effect"] is None) == (one["protocol"] == "direct") for one in row["ratings"])
    assert [one["annotator"] for one in row["preferences"]] == PEOPLE


def the_instruction_is_in_its_language(row: dict[str, Any]) -> None:
    assert re.search(SCRIPTS[row["language"]], asked(row), re.I)


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


def a_clear_winner_meets_every_question(row: dict[str, Any]) -> None:
    """Outside the ties the better response has no known fault, so the preference cannot be argued with."""
    first, second = pass_rates(row)
    assert first == second or max(first, second) == 1.0


def test_ties_pass_the_same_questions_and_some_of_them_fail_one() -> None:
    ties = [row for row in ROWS if row["preferences"][0]["rating"] == 3 and row not in RICH]
    assert len(ties) >= 4
    assert all(settled(row)[0] == settled(row)[1] for row in ties)
    assert {pass_rates(row)[0] == 1.0 for row in ties} == {True, False}


def test_the_better_side_alternates_and_all_ratings_occur() -> None:
    """A judge that always prefers one position gets no credit for it."""
    sides = [preference_from_ratings([one["rating"] for one in row["preferences"]]) for row in ROWS]
    assert all(left != right for left, right in itertools.pairwise(side for side in sides if side != "tie"))
    assert {one["rating"] for row in ROWS for one in row["preferences"]} == {1, 2, 3, 4, 5}


def test_annotators_differ_now_and_then() -> None:
    questions = [
        labels
        for row in RICH
        for place in range(0, len(row["answers"]), 3)
        for labels in zip(*(entry["answers"] for entry in row["answers"][place : place + 3]), strict=True)
    ]
    disputed = sum(len(set(labels)) > 1 for labels in questions)
    assert 0.05 < disputed / len(questions) < 0.2
    assert sum(None in labels for labels in questions) == 1, "one question was left open"


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
    found: list[dict[str, str]] = json.loads(text[text.index("[") : text.rindex("]") + 1])
    return found


def clock(text: str) -> list[tuple[int, int]]:
    """Start and end of every line of a schedule, in minutes."""
    spans = re.findall(r"^(\d+):(\d+)-(\d+):(\d+)", text, re.M)
    return [(int(a) * 60 + int(b), int(c) * 60 + int(d)) for a, b, c, d in spans]


SHELVES = ["folders", "lamps", "staplers"]  # in the order of their shelves A, B, C
PHONES = {"王芳": "3102", "李强": "3188", "陈静": "3155"}
PROOFS: list[tuple[str, int, Callable[[str], bool]]] = [
    ("tick-mini-01", 0, is_json),
    ("tick-mini-01", 2, lambda text: '"date": "2026-03-04"' in text),
    ("tick-mini-02", 0, lambda text: len(lines(text)) == 3),
    ("tick-mini-02", 1, lambda text: all(line.startswith("- ") for line in lines(text))),
    ("tick-mini-02", 2, lambda text: "15 May" in text),
    ("tick-mini-02", 3, lambda text: "2 May" in text),
    ("tick-mini-03", 0, lambda text: "There are two reasons" in text),
    ("tick-mini-03", 1, lambda text: "was late" in text),
    ("tick-mini-04", 3, lambda text: "by Friday" in text),
    ("tick-mini-04", 4, lambda text: len(text.split()) < 90),
    ("tick-mini-04", 5, lambda text: not re.search(r"euro|pound|€|£", text)),
    ("tick-mini-05", 3, lambda text: bool(re.fullmatch(r"1: \w+ \(.+\)\n2: \w+ \(.+\)\n3: \w+ \(.+\)", text))),
    ("tick-mini-05", 4, lambda text: all(len(why.split()) <= 5 for why in re.findall(r"\((.+)\)", text))),
    ("tick-mini-06", 2, lambda text: clock(text)[3][1] - clock(text)[3][0] == 75),
    ("tick-mini-06", 3, lambda text: all(a[1] == b[0] for a, b in zip(clock(text), clock(text)[1:], strict=False))),
    ("tick-mini-06", 4, lambda text: (clock(text)[0][0], clock(text)[-1][1]) == (540, 720)),
    ("tick-mini-07", 1, lambda text: [w for w in re.findall(r"\w+", text.lower()) if w in SHELVES] == SHELVES),
    ("tick-mini-07", 3, lambda text: all(line.startswith("|") for line in lines(text))),
    ("tick-mini-08", 3, lambda text: len(re.findall(r"[.!?]", text)) == 1),
    ("tick-mini-09", 0, lambda text: len(lines(text)) == 1),
    ("tick-mini-09", 1, lambda text: len(text.split()) <= 8),
    ("tick-mini-09", 2, lambda text: "8 October" in text),
    ("tick-mini-09", 3, lambda text: "!" not in text),
    ("tick-mini-10", 0, lambda text: len(text.split()) <= 25),
    ("tick-mini-10", 1, lambda text: "Thursday" in text),
    ("tick-mini-10", 2, lambda text: "8:00" in text and "13:00" in text),
    ("tick-mini-10", 3, lambda text: "pump" in text),
    ("tick-mini-11", 4, lambda text: "room" not in text),
    ("tick-mini-12", 1, lambda text: not re.search(r"\b(?:du|deine|Lösche)\b", text)),
    ("tick-mini-12", 2, lambda text: "{count}" in text),
    ("tick-mini-12", 3, lambda text: len(lines(text)) == 2),
    ("tick-mini-13", 1, lambda text: "3. bis 14. August" in text),
    ("tick-mini-13", 2, lambda text: "Frau Keller" in text and "keller@beispiel.de" in text),
    ("tick-mini-13", 4, lambda text: "Urlaub" not in text),
    ("tick-mini-14", 1, lambda text: len(re.findall(r"[.!?]", text)) == 1),
    ("tick-mini-14", 2, lambda text: len(re.findall(r"\w+", text)) <= 25),
    ("tick-mini-14", 3, lambda text: "84 euros" in text),
    ("tick-mini-14", 4, lambda text: "12 juin" in text),
    ("tick-mini-15", 2, lambda text: lines(text)[:3] == sorted(lines(text)[:3])),
    ("tick-mini-16", 2, lambda text: "fattura di aprile" in text),
    ("tick-mini-16", 3, lambda text: "due settimane" in text),
    ("tick-mini-17", 0, lambda text: re.findall(r"^(\d)\. ", text, re.M) == ["1", "2", "3"]),
    ("tick-mini-17", 1, lambda text: re.findall(r"\((\d+) de", text) == ["6", "13", "20"]),
    ("tick-mini-18", 1, lambda text: "Lipowej 8" in text),
    ("tick-mini-18", 2, lambda text: "do piątku" in text),
    ("tick-mini-18", 3, lambda text: len(text.split()) <= 20),
    ("tick-mini-19", 0, lambda text: not re.search(r"[A-Za-z]", text)),
    ("tick-mini-19", 2, lambda text: "14:00" in text and "16:00" in text),
    ("tick-mini-20", 1, lambda text: "6月18日15時" in text),
    ("tick-mini-20", 2, lambda text: "第2会議室" in text),
    ("tick-mini-20", 3, lambda text: "工事" in text),
    ("tick-mini-20", 4, lambda text: text.count("。") <= 3),
    ("tick-mini-21", 0, is_json),
    ("tick-mini-21", 1, lambda text: all(set(item) == {"name", "phone"} for item in items(text))),
    ("tick-mini-21", 2, lambda text: {item["name"]: item["phone"] for item in items(text)} == PHONES),
    ("tick-mini-22", 1, lambda text: len(re.findall(r"[.!?](?:\s|$)", text)) == 2),
    ("tick-mini-22", 2, lambda text: "1 сентября" in text),
    ("tick-mini-22", 4, lambda text: "555-01-82" in text),
    ("tick-mini-23", 1, lambda text: len(re.findall(r"[.!?]", text)) == 1),
    ("tick-mini-23", 2, lambda text: "9 giờ 30" in text),
    ("tick-mini-23", 3, lambda text: "không cần" not in text and "thẻ" in text),
    ("tick-mini-24", 0, lambda text: "Nordlicht" in text),
    ("tick-mini-24", 1, lambda text: bool(re.match(r"Nordlicht|Elbe|Heide", text))),
    ("tick-mini-25", 0, lambda text: all(re.match(r"\d\. ", line) for line in lines(text))),
    ("tick-mini-25", 1, lambda text: len(lines(text)) <= 4),
    ("tick-mini-25", 2, lambda text: "butter" not in text),
    ("tick-mini-26", 2, lambda text: len(re.findall(r"[.!?]", text)) <= 2),
    ("tick-mini-26", 3, lambda text: "recibo" in text),
    ("tick-mini-27", 0, lambda text: all(city in text for city in ("札幌市", "広島市", "仙台市"))),
    ("tick-mini-27", 1, lambda text: re.findall("札幌|広島|仙台", text) == ["札幌", "広島", "仙台"]),
    ("tick-mini-27", 3, lambda text: all(re.match(r"\d\. ", line) for line in lines(text))),
    ("tick-mini-28", 0, lambda text: len(text) <= 20),
    ("tick-mini-28", 1, lambda text: "明天上午十点" in text),
    ("tick-mini-28", 2, lambda text: "三楼会议室" in text),
    ("tick-mini-28", 3, lambda text: len(re.findall(r"[。！？]", text)) == 1),
]


def answers_that_a_program_can_prove(row: dict[str, Any]) -> None:
    wrong = [
        f"{response['id']}, question {index + 1}"
        for name, index, holds in PROOFS
        for response, answers in zip(row["responses"], settled(row), strict=True)
        if name == row["id"] and holds(response["text"]) != (answers[index] == "yes")
    ]
    assert not wrong


# Each check, and a change of the first row that it must find.
CHECKS: list[tuple[Callable[[dict[str, Any]], None], Callable[[dict[str, Any]], object]]] = [
    (columns_and_nested_records, lambda row: row["responses"][1].update(model="other")),
    (the_instruction_is_in_its_language, lambda row: row.update(language="KO")),
    (a_rich_row_has_every_part, lambda row: row["ratings"].pop()),
    (
        questions_are_yes_no_questions_and_all_answered,
        lambda row: row["checklists"][3]["questions"].__setitem__(0, "x"),
    ),
    (the_preference_follows_the_pass_rates, lambda row: [one.update(rating=3) for one in row["preferences"]]),
    (a_clear_winner_meets_every_question, lambda row: [one.update(answers=["no"] * 4) for one in row["answers"][:3]]),
    (answers_that_a_program_can_prove, lambda row: row["responses"][0].update(text="{")),
]


def test_every_row_is_sound() -> None:
    found = faults(BY_ID, *(check for check, _ in CHECKS))
    assert not found, listed(found)


def test_every_check_finds_a_broken_row() -> None:
    for check, change in CHECKS:
        assert faults({"broken": broken(ROWS[0], change)}, check), check.__name__


def test_every_proof_finds_an_answer_turned_over() -> None:
    def turned(row: dict[str, Any], index: int) -> None:
        for answer in filter(lambda one: one["checklist_id"] == "c1", row["answers"]):
            answer["answers"][index] = {"yes": "no", "no": "yes"}[answer["answers"][index]]

    for name, index, _ in PROOFS:
        (fault,) = faults(
            {name: broken(BY_ID[name], lambda row, at=index: turned(row, at))}, answers_that_a_program_can_prove
        )
        assert f"{name}-a, question {index + 1}" in fault


def test_over_half_of_the_questions_are_proved() -> None:
    assert len(PROOFS) == len({(name, index) for name, index, _ in PROOFS})
    assert len(PROOFS) > 0.5 * sum(len(row["checklists"][0]["questions"]) for row in ROWS)
