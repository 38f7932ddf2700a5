"""Rows of one's own as people write them (`instances.yaml`): what each becomes, and what is said of those that cannot be used."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import cases
from truebench_hf.data.instances import criteria_file, of_row, of_rows
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Criterion, Instance, Message, Turn

C = Criterion
OWN = "3ca8d9bbe391"  # the id of a row that has none: a hash of what is asked
ONE = Instance(OWN, "", "", "", (Turn("Name a colour.", (C("names a colour"),)),))
PROMPT = {"prompt": "Name a colour."}
GREETING = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
TALK = [*GREETING, {"role": "user", "content": "Name a colour."}]


def read(*rows: dict[str, Any], **options: Any) -> list[Instance]:
    return of_rows([Record(f"rows, line {n}", row) for n, row in enumerate(rows, 1)], **options)


def ids(*rows: dict[str, Any], **options: Any) -> list[str]:
    return [instance.id for instance in read(*rows, **options)]


@pytest.mark.parametrize("row", cases(__file__, "instances", "same"))
def test_all_these_are_the_same_instance(row: dict[str, Any]) -> None:
    assert read(row["row"]) == [ONE]


@pytest.mark.parametrize("row", cases(__file__, "instances", "criteria"))
def test_criteria(row: dict[str, Any]) -> None:
    (instance,) = read(PROMPT | {"criteria": row["given"]})
    assert [turn.criteria for turn in instance.turns] == [tuple(C(**wanted) for wanted in row["wanted"])]


@pytest.mark.parametrize("row", cases(__file__, "instances", "refused"))
def test_a_row_that_cannot_be_used(row: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"^rows, line 2.*{row['said']}") as caught:
        read({"id": "good"} | PROMPT | {"criteria": ["c"]}, row["row"])
    assert "\n" not in str(caught.value)


def test_everything_else_that_a_row_may_tell() -> None:
    row = PROMPT | {"id": 7, "language": "DE", "category": "Facts", "task": "Colours", "system": "Be brief.",
                    "context": "Red is a colour.", "reference": "Red.", "criteria": ["names a colour"], "note": "mine"}  # fmt: skip
    turn = Turn("Name a colour.", (C("names a colour"),), "Red.")
    assert read(row) == [Instance("7", "DE", "Facts", "Colours", (turn,), "Be brief.", "Red is a colour.")]
    assert read({"index": "x", "sub_category": "t"} | PROMPT | {"criteria": ["c"]})[0].task == "t", "by official names"
    turns = [{"prompt": "a", "criteria": ["b"], "reference": "r"}, {"prompt": "c"}]
    assert read({"turns": turns})[0].turns == (Turn("a", (C("b"),), "r"), Turn("c", ())), "a turn may have no criteria"
    assert read({"turns": ["a", "c"], "criteria": [["b"], []]})[0].turns == (Turn("a", (C("b"),)), Turn("c", ()))
    assert read(PROMPT, judged=False) == [Instance(OWN, "", "", "", (Turn("Name a colour.", ()),))], (
        "only to be answered"
    )


def test_a_conversation_that_was_had_is_history() -> None:
    row = {"messages": [{"role": "system", "content": "Be brief."}, *TALK], "criteria": ["names a colour"]}
    (instance,) = read(row)
    history = (Message("user", "Hello"), Message("assistant", "Hi!"))
    assert instance == Instance(instance.id, "", "", "", ONE.turns, "Be brief.", None, history)
    assert read(PROMPT | {"history": GREETING, "system": "Be brief.", "criteria": ["names a colour"]}) == [instance]
    assert instance.id != OWN, "what was said before is a part of what is asked"


def test_an_id_that_is_absent_follows_from_what_is_asked() -> None:
    row, other = PROMPT | {"criteria": ["c"]}, {"prompt": "Name a fruit.", "criteria": ["c"]}
    assert ids(row, {"id": "own"} | row) == [OWN, "own"]
    assert ids(other, row)[1] == OWN, "a row on top moves nothing"
    assert ids(PROMPT | {"criteria": ["another"]}) == [OWN], "nor do other criteria"
    assert ids(row, row, row) == [OWN, f"{OWN}-2", f"{OWN}-3"], "rows that are alike stay apart"
    assert ids(row, row, repeated=True) == [OWN], "but for those that hold several responses"
    with pytest.raises(UserError, match=r"line 2: id 1 stands twice \(first at rows, line 1\)"):
        read({"id": "1"} | row, {"id": 1} | row)


def test_an_instance_as_it_is_written_is_a_row() -> None:
    turns = (Turn("a", (C("x", "style", "if y", -2.5), C("z")), "r"), Turn("b", ()))
    history = (Message("user", "u"), Message("assistant", ""))
    for instance in (
        Instance("ü", "DE", "Facts", "Colours", turns, "s", "c", history),
        Instance("1", "", "", "", (Turn("a", ()),)),
    ):
        assert of_row(Record("here", json.loads(json.dumps(asdict(instance))))) == instance


def test_columns_by_other_names() -> None:
    row = {"question": "Name a colour.", "points to check": ["names a colour"], "n": "q1", "prompt": "x", "rubric": "x"}
    columns = {"prompt": ["question"], "criteria": ["points to check"], "id": ["n"]}
    assert read(row, columns=columns) == [Instance("q1", "", "", "", ONE.turns)], "what is mapped is what is meant"
    with pytest.raises(UserError, match="--column prompt=qestion: no row has a column 'qestion'; there are question, "):
        read(row, columns={"prompt": ["qestion"]})
    with pytest.raises(UserError, match="unknown column 'promt': did you mean prompt"):
        read(row, columns={"promt": ["question"]})
    (instance,) = read(row | {"prompt": TALK}, columns={"messages": ["prompt"], "criteria": ["rubric"]})
    assert instance.history[1].content == "Hi!"


@pytest.mark.parametrize(
    ("name", "content", "wanted"),
    [
        ("rules.txt", b"- is short\n- is polite\n", [C("is short"), C("is polite")]),
        ("rules.json", b'["is short", {"text": "shouts", "weight": -1}]', [C("is short"), C("shouts", weight=-1)]),
        ("absent.txt", None, "cannot be read"),
        ("blank.txt", b" \n", "one criterion a line, or with a JSON list"),
        ("rules.yaml", b"- text: a\n", "one criterion a line, or with a JSON list"),
        ("rules.jsonl", b'{"text": "a"}\n{"text": "b"}\n', "begins like JSON and is none"),
    ],
)
def test_criteria_for_every_row(tmp_path: Path, name: str, content: bytes | None, wanted: Any) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    if isinstance(wanted, str):
        with pytest.raises(UserError, match=f"^--criteria .*{wanted}"):
            criteria_file(str(tmp_path / name))
        return
    more = criteria_file(str(tmp_path / name))
    assert more == tuple(wanted)
    first, second = read(PROMPT, {"turns": [{"prompt": "a", "criteria": ["b"]}, {"prompt": "c"}]}, more=more)
    assert [turn.criteria for turn in (*first.turns, *second.turns)] == [more, (C("b"), *more), more]
