"""Rows of one's own as people write them: what each becomes, and what is said of those that cannot be used."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.data.instances import criteria_file, of_row, of_rows
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Message, Turn

C = Criterion
OWN = "3ca8d9bbe391"  # the id of a row that has none: a hash of what is asked
ONE = Instance(OWN, "", "", "", (Turn("Name a colour.", (C("names a colour"),)),))
PROMPT = {"prompt": "Name a colour."}
SAID = [
    {"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"},
    {"role": "user", "content": "Name a colour."},
]  # fmt: skip


def read(*rows: dict[str, Any], **options: Any) -> list[Instance]:
    return of_rows([Record(f"rows, line {n}", row) for n, row in enumerate(rows, 1)], **options)


def criteria(row: dict[str, Any]) -> list[tuple[Criterion, ...]]:
    return [turn.criteria for turn in read(row)[0].turns]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (PROMPT | {"criteria": ["names a colour"]}, "the row of the README"),
        (PROMPT | {"criteria": "names a colour"}, "a text is one criterion"),
        (PROMPT | {"rubric": ["names a colour"]}, "by another name"),
        (PROMPT | {"rubrics": [{"criterion": "names a colour"}], "criteria": None}, "beside an empty column"),
        (PROMPT | {"checklist": [{"question": "names a colour"}], "criteria": ""}, "or a blank cell"),
        (PROMPT | {"criteria": [{"title": "Colour", "description": "names a colour"}]}, "a title is a name beside a text"),
        (PROMPT | {"criteria": [{"text": "names a colour", "weight": None, "points": None}]}, "empty fields of a struct"),
        (PROMPT | {"criteria": [{"text": "names a colour", "points": 1, "tags": ["x"]}]}, "fields that are not ours"),
        (PROMPT | {"criteria": [["names a colour"]]}, "a list for the one turn"),
        (PROMPT | {"criteria": '["names a colour"]'}, "JSON in a cell"),
        (PROMPT | {"criteria": '[{"text": "names a colour"}]'}, "objects in a cell"),
        (PROMPT | {"criteria": "\n- names a colour\n\n"}, "a list as one writes it in a cell"),
        (PROMPT | {"criteria": ["names a colour"], "id": None, "language": "", "category": None}, "what is empty is absent"),
        (PROMPT | {"criteria": ["names a colour"], "messages": None, "turns": 1}, "a number of turns is no prompt"),
        ({"prompt": [{"role": "user", "content": "Name a colour."}], "criteria": "names a colour"}, "messages as prompt"),
        ({"messages": [{"role": "user", "content": "Name a colour."}], "criteria": "names a colour"}, "one message"),
        ({"messages": json.dumps([{"role": "user", "content": "Name a colour."}]), "criteria": "names a colour"}, "as JSON"),
        ({"turns": [PROMPT | {"criteria": ["names a colour"]}]}, "one turn"),
        ({"turns": json.dumps([PROMPT | {"rubric": "names a colour"}])}, "turns as JSON, as in CSV"),
        ({"turns": ["Name a colour."], "criteria": ["names a colour"]}, "turns as texts, criteria beside them"),
        ({"input": ["Name a colour."], "criteria": [["names a colour"]], "turns": 1}, "the official columns, some of them"),
        ({"input": "Name a colour.", "criteria": ["names a colour"]}, "a text as input"),
        ({"input": '["Name a colour."]', "criteria": '[["names a colour"]]', "turns": "1"}, "the same as CSV"),
    ],
)  # fmt: skip
def test_all_these_are_the_same_instance(row: dict[str, Any], reason: str) -> None:
    assert read(row) == [ONE], reason


@pytest.mark.parametrize(
    ("given", "wanted", "reason"),
    [
        ("is short\nis polite", [C("is short"), C("is polite")], "one a line"),
        ("1. is short\n2) is polite\n* is red\n• is blue", [C(t) for t in ("is short", "is polite", "is red", "is blue")],
         "markers of a list are no part of it"),
        ("3 colours\n-5 degrees", [C("3 colours"), C("-5 degrees")], "numbers that are no markers"),
        ([{"text": "a", "weight": 2}, {"criterion": "b", "points": -0.5}, "c"], [C("a", weight=2), C("b", weight=-0.5), C("c")],
         "with and without points"),
        ([{"text": "a", "kind": "style", "condition": "b holds"}], [C("a", "style", "b holds")], "what else a criterion has"),
        (["same", "same"], [C("same"), C("same")], "kept as given"),
        (["zwölf Wörter 🍋"], [C("zwölf Wörter 🍋")], "any letters"),
    ],
)  # fmt: skip
def test_criteria(given: Any, wanted: list[Criterion], reason: str) -> None:
    assert criteria(PROMPT | {"criteria": given}) == [tuple(wanted)], reason


def test_everything_else_that_a_row_may_tell() -> None:
    row = PROMPT | {"id": 7, "language": "DE", "category": "Facts", "task": "Colours", "system": "Be brief.",
                    "context": "Red is a colour.", "reference": "Red.", "criteria": ["names a colour"], "note": "mine"}  # fmt: skip
    turn = Turn("Name a colour.", (C("names a colour"),), "Red.")
    assert read(row) == [Instance("7", "DE", "Facts", "Colours", (turn,), "Be brief.", "Red is a colour.")]
    assert read({"index": "x", "sub_category": "t"} | PROMPT | {"criteria": ["c"]})[0].task == "t", "by official names"
    turns = [{"prompt": "a", "criteria": ["b"], "reference": "r"}, {"prompt": "c"}]
    (found,) = read({"turns": turns})
    assert found.turns == (Turn("a", (C("b"),), "r"), Turn("c", ())), "a turn without criteria beside one that has some"
    (found,) = read({"turns": ["a", "c"], "criteria": [["b"], []]})
    assert found.turns == (Turn("a", (C("b"),)), Turn("c", ())), "in lists too"


def test_a_conversation_that_was_had_is_history() -> None:
    system = {"role": "system", "content": "Be brief."}
    (found,) = read({"messages": [system, *SAID], "criteria": ["names a colour"]})
    assert found == Instance(
        found.id, "", "", "", ONE.turns, "Be brief.", None, (Message("user", "Hello"), Message("assistant", "Hi!"))
    )
    (same,) = read(
        {"prompt": "Name a colour.", "history": SAID[:2], "system": "Be brief.", "criteria": ["names a colour"]}
    )
    assert same == found
    assert found.id != OWN, "what was said before is a part of what is asked"


def test_an_id_that_is_absent_follows_from_what_is_asked() -> None:
    row, other = PROMPT | {"criteria": ["c"]}, {"prompt": "Name a fruit.", "criteria": ["c"]}
    assert [one.id for one in read(row, {"id": "own"} | row)] == [OWN, "own"]
    assert [one.id for one in read(other, row)][1] == OWN, "a row on top moves nothing"
    assert read(PROMPT | {"criteria": ["another"]})[0].id == OWN, "nor do other criteria"
    assert [one.id for one in read(row, row, row)] == [OWN, f"{OWN}-2", f"{OWN}-3"], "rows that are alike stay apart"
    assert [one.id for one in read(row, row, repeated=True)] == [OWN], "but for those that hold several responses"
    with pytest.raises(UserError, match=r"line 2: id 1 stands twice \(first at rows, line 1\)"):
        read({"id": "1"} | row, {"id": 1} | row)


def test_an_instance_as_it_is_written_is_a_row() -> None:
    whole = Instance(
        "ü", "DE", "Facts", "Colours",
        (Turn("a", (C("x", "style", "if y", -2.5), C("z")), "r"), Turn("b", ())),
        "s", "c", (Message("user", "u"), Message("assistant", "")),
    )  # fmt: skip
    plain = Instance("1", "", "", "", (Turn("a", ()),))
    for one in (whole, plain):
        assert of_row(Record("here", json.loads(json.dumps(asdict(one))))) == one


@pytest.mark.parametrize(
    ("row", "said", "reason"),
    [
        ({"riddle": "a", "criteria": ["b"]}, "has no prompt; .*--column prompt=COLUMN; the file has riddle, criteria",
         "another name"),
        ({"criteria": ["b"]}, "has no prompt", "nothing to ask"),
        ({}, "has no prompt; .*the file has none", "an empty row"),
        (PROMPT, "has no criteria, and the file has prompt; give .*--column criteria=COLUMN, .*--criteria FILE .*truebench study checklist generate",
         "the most common lack"),
        (PROMPT | {"criteria": []}, "has no criteria", "an empty list"),
        ({"turns": [{"prompt": "a"}, {"prompt": "b", "criteria": []}]}, "has no criteria", "none in any turn"),
        (PROMPT | {"criteria": ["b"], "rubric": ["c"]}, "has 'criteria' and 'rubric', .*--column criteria=criteria", "two lists"),
        (PROMPT | {"criteria": ["b"], "messages": SAID}, "has 'prompt' and 'messages'", "two prompts"),
        (PROMPT | {"criteria": 7}, "'criteria' must be a list of criteria", "a number"),
        (PROMPT | {"criteria": {"a": "b"}}, "'criteria' must be a list of criteria", "an object"),
        (PROMPT | {"criteria": "['b', 'c']"}, "'criteria' begins like JSON and is none", "a list as Python shows it"),
        (PROMPT | {"criteria": ["b", " "]}, r"'criteria\[1\]' must be a text", "a blank one"),
        (PROMPT | {"criteria": ["b", None]}, r"'criteria\[1\]' must be a text", "null in a list"),
        (PROMPT | {"criteria": [{"name": "b"}]}, r"criteria\[0\]: missing field 'text' .or criterion, .*description.*; the object has name", "an unknown name"),
        (PROMPT | {"criteria": [{"text": 1}]}, r"criteria\[0\]: field 'text' must be a text", "a number as text"),
        (PROMPT | {"criteria": [{"text": "b", "weight": 0}]}, r"criteria\[0\]: field 'weight' must be a number other than 0",
         "worth nothing"),
        (PROMPT | {"criteria": [{"text": "b", "points": "2"}]}, "'points' must be a number", "points as text"),
        (PROMPT | {"criteria": [{"text": "b", "points": True}]}, "'points' must be a number", "a flag"),
        (PROMPT | {"criteria": [{"text": "b", "weight": float("nan")}]}, "'weight' must be a number", "no number"),
        (PROMPT | {"criteria": [{"text": "b", "weight": 10**400}]}, "'weight' must be a number", "beyond all floats"),
        ({"turns": ["a", "b"], "criteria": ["c", "d"]}, "'criteria' must be a list of lists .* each of the 2 turns",
         "nobody knows which turn they are of"),
        ({"turns": ["a", "b"], "criteria": [["c"]]}, "'criteria' must be a list of lists", "a list too few"),
        ({"turns": [{"prompt": "a", "criteria": ["b"]}], "criteria": ["c"]}, "stands beside turns that have", "two places"),
        ({"turns": "Name a colour.", "criteria": ["b"]}, "'turns' must be a list", "a text for a list"),
        ({"turns": [{"question": "a"}], "criteria": ["b"]}, r"turns\[0\]: missing field 'prompt'; the object has question", "no prompt in it"),
        ({"turns": ["a", "b"], "criteria": [["c"], ["d"]], "reference": "r"}, "'reference' is of one answer", "of which?"),
        ({"messages": [*SAID, {"role": "assistant", "content": "Red."}], "criteria": ["b"]},
         "'messages' must end with a message of the user; leave out the answer", "data for training"),
        ({"messages": [{"role": "tool", "content": "x"}], "criteria": ["b"]}, r"field 'messages\[0\].role' is 'tool'", "a tool"),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}], "criteria": ["b"]}, r"'messages\[0\].content' must be a text", "parts"),
        ({"messages": "Name a colour.", "criteria": ["b"]}, "'messages' must be JSON", "a text in a cell"),
        ({"messages": [{"role": "user", "content": " "}], "criteria": ["b"]}, "blank message", "nothing asked"),
        ({"messages": [{"role": "system", "content": "s"}, SAID[2]], "system": "t", "criteria": ["b"]}, "'system'", "two systems"),
        ({"messages": SAID, "history": SAID[:2], "criteria": ["b"]}, "'history'", "two histories"),
        ({"prompt": " ", "criteria": ["b"]}, "has no prompt", "a blank prompt"),
        ({"prompt": 7, "criteria": ["b"]}, "'prompt' must be a text", "a number as prompt"),
        (PROMPT | {"criteria": ["b"], "language": 3}, "'language' must be a text or null", "a number as language"),
        (PROMPT | {"criteria": ["b"], "context": ["c"]}, "'context' must be a text or null", "documents in a list"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_used(row: dict[str, Any], said: str, reason: str) -> None:
    with pytest.raises(UserError, match=f"^rows, line 2.*{said}") as caught:
        read({"id": "good"} | PROMPT | {"criteria": ["c"]}, row)
    assert "\n" not in str(caught.value), reason


def test_only_answers_need_no_criteria() -> None:
    assert read(PROMPT, judged=False) == [Instance(OWN, "", "", "", (Turn("Name a colour.", ()),))]


def test_columns_by_other_names() -> None:
    row = {
        "question": "Name a colour.",
        "points to check": ["names a colour"],
        "n": "q1",
        "prompt": "unused",
        "rubric": "x",
    }
    columns = {"prompt": ["question"], "criteria": ["points to check"], "id": ["n"]}
    assert read(row, columns=columns) == [Instance("q1", "", "", "", ONE.turns)], "what is mapped is what is meant"
    with pytest.raises(UserError, match="--column prompt=qestion: no row has a column 'qestion'; there are question, "):
        read(row, columns={"prompt": ["qestion"]})
    with pytest.raises(UserError, match="unknown column 'promt': did you mean prompt"):
        read(row, columns={"promt": ["question"]})
    assert (
        read(row | {"prompt": SAID}, columns={"messages": ["prompt"], "criteria": ["rubric"]})[0].history[1].content
        == "Hi!"
    )


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("rules.txt", "- is short\n- is polite\n", [C("is short"), C("is polite")]),
        ("rules.json", '["is short", {"text": "shouts", "weight": -1}]', [C("is short"), C("shouts", weight=-1)]),
        ("rules.txt", "\ufeffis short", [C("is short")]),
    ],
)
def test_criteria_for_every_row(tmp_path: Path, name: str, text: str, wanted: list[Criterion]) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    more = criteria_file(str(tmp_path / name))
    assert more == tuple(wanted)
    first, second = read(PROMPT, {"turns": [{"prompt": "a", "criteria": ["b"]}, {"prompt": "c"}]}, more=more)
    assert [turn.criteria for turn in (*first.turns, *second.turns)] == [more, (C("b"), *more), more]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("absent.txt", None, "cannot be read"),
        ("blank.txt", b" \n", "one criterion a line, or with a JSON list"),
        ("odd.txt", b"\xff\xfe", "cannot be read"),
        ("rules.yaml", b"- text: a\n", "one criterion a line, or with a JSON list"),
        ("rules.jsonl", b'{"text": "a"}\n{"text": "b"}\n', "begins like JSON and is none"),
        ("rules.json", b"[1]", r"'criteria\[0\]' must be a text"),
    ],
)
def test_a_file_of_criteria_that_cannot_be_used(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=f"^--criteria .*{said}"):
        criteria_file(str(tmp_path / name))
