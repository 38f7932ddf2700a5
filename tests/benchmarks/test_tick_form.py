"""Rows of the checklists form: whatever stands in them they are read, or refused with the place and the field."""

from __future__ import annotations

import copy
import json
import random
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truebench_hf.data.checklist_rows import ChecklistRow, load_entries, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export

SAMPLE = (files("truebench_hf.data") / "checklists_mini.jsonl").read_text(encoding="utf-8").splitlines()
RICH = json.loads(SAMPLE[0])
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def entries(given: str) -> list[dict[str, Any]]:
    """What is read of some data, whatever its rows hold beside."""
    return [entry.model_dump() for entry in load_entries(given)]


def places(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of everything in a row."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


def sound(row: Any) -> bool:
    """Whether a row is read, or refused with its place."""
    try:
        return isinstance(read(Record("line 1", row)), ChecklistRow)
    except UserError as error:
        return str(error).startswith("line 1")


@given(st.integers(0, 2**32), JUNK)
def test_a_row_with_anything_in_it_is_read_or_refused(seed: int, junk: Any) -> None:
    row = copy.deepcopy(RICH)
    container, key = random.Random(seed).choice(places(row))
    container[key] = junk
    assert sound(row)


@given(st.dictionaries(st.sampled_from([*RICH, "other"]), JUNK))
def test_a_row_of_anything_is_read_or_refused(row: dict[str, Any]) -> None:
    assert sound(row)


def test_what_may_be_absent() -> None:
    messages = [{"role": "user", "content": "Do."}]
    entry = read(
        Record("x", {"id": 7, "messages": messages, "checklists": [{"author": "a", "questions": ["Is it done?"]}]})
    )
    assert (entry.id, entry.language, entry.responses, entry.chosen) == ("7", "", (), None)
    assert (entry.checklists[0].id, entry.checklists[0].source, entry.checklists[0].run) == ("c1", "human", 1)


def test_a_set_is_built_of_rows_that_leave_much_out(tmp_path: Path) -> None:
    row = {
        "id": "x", "messages": [{"role": "user", "content": "Do."}], "responses": [{"id": "r", "text": "Done."}],
        "checklists": [{"author": "a", "questions": ["Is it done?"]}],
        "answers": [{"response_id": "r", "checklist_id": "c1", "annotator": "u", "answers": ["yes"]}],
        "ratings": [{"response_id": "r", "annotator": "u", "protocol": "direct", "score": 4}],
    }  # fmt: skip
    source = tmp_path / "rows.jsonl"
    source.write_text(json.dumps(row) + "\n", encoding="utf-8")
    export("checklists", tmp_path / "built", source=str(source), strict=True)
    assert entries(str(tmp_path / "built")) == entries(str(source))


def test_people_are_their_majority() -> None:
    row = copy.deepcopy(RICH)
    about = {"response_id": "tick-mini-01-a", "checklist_id": "c1"}
    said = {"u": ["yes", "no", "yes", None], "v": ["yes", "yes", None, None], "w": ["no", None, None, None]}
    row["answers"] = [{**about, "annotator": name, "answers": labels} for name, labels in said.items()]
    entry = read(Record("x", row))
    assert entry.chosen
    first, second = entry.responses
    assert entry.people(first, entry.chosen) == ("yes", None, "yes", None), "most, a tie, one alone, nobody"
    assert entry.people(second, entry.chosen) is None


def test_a_built_set_is_read_as_its_source(tmp_path: Path) -> None:
    """Parquet has its own ways with what is empty or null."""
    export("checklists_mini", tmp_path / "built")
    assert entries(str(tmp_path / "built")) == entries("checklists_mini")


def test_the_categories_of_infobench(tmp_path: Path) -> None:
    source = tmp_path / "infobench.jsonl"
    record = {
        "id": "domain_1", "instruction": "Write a haiku.", "input": "About rain.", "category": "x", "subset": "Easy_set",
        "decomposed_questions": ["Is it a haiku?", "Is it about rain?"],
        "question_label": [["Format", "Number"], ["Content"]],
    }  # fmt: skip
    source.write_text(json.dumps(record) + "\n", encoding="utf-8")
    (entry,) = load_entries(f"infobench:{source}")
    assert entry.chosen
    assert entry.chosen.questions == ("Is it a haiku?", "Is it about rain?")
    assert [one.categories for one in entry.categories] == [(("Format", "Number"), ("Content",))]
    assert entry.messages[0].content == "Write a haiku.\n\nAbout rain."


@pytest.mark.parametrize(
    ("source", "told"),
    [("nothing:here", "unknown source"), ("infobench:none.json", "no such file"), ("none.jsonl", "checklists_mini")],
)
def test_data_that_is_not_there(source: str, told: str) -> None:
    with pytest.raises(UserError, match=told):
        load_entries(source)
