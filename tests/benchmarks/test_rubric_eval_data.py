"""Rows of RubricEval: what is read, what is derived, and what is refused with the row and field named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.rubric_eval.data import items, load, read, selection
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.loaders.rubric_eval import row as published

ROW: dict[str, Any] = {
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Name a river."}],
    "response": "The Rhine.",
    "rubric": "Names a river.",
    "label": "yes",
    "instruction_category": "system",
}


def test_rubric_mini_by_response() -> None:
    found = items(load("rubric_mini"))
    assert (len(found), sum(len(item.rubrics) for item in found)) == (378 + 560, 1670 + 1120)
    splits = Counter(rubric.split for item in found for rubric in item.rubrics)
    assert splits == {"easy": 1670, "hard": 1120}
    assert all(item.labelled == item.case for item in found), "every rubric of a checklist has its row, in order"


def test_what_is_missing_is_derived() -> None:
    (item,) = items([ROW, ROW | {"rubric": "Is brief.", "label": False}, ROW | {"rubric": "Is true.", "label": ""}])
    assert [criterion.text for criterion in item.case.criteria] == ["Names a river.", "Is brief.", "Is true."]
    assert [rubric.label for rubric in item.rubrics] == ["yes", "no", None]
    assert [rubric.index for rubric in item.rubrics] == [0, 1, 2]
    assert item.rubrics[1].id == f"{item.id}-c1"
    assert (item.case.instruction, item.case.history[0].content) == ("Name a river.", "Be brief.")
    assert (item.instruction_id, item.language, item.rubrics[0].split) == (item.instruction_id, "", "")
    assert len({entry.instruction_id for entry in items([ROW, ROW | {"response": "The Elbe."}])}) == 1


def test_two_models_may_say_the_same() -> None:
    more = ROW | {"rubric": "Is brief."}
    found = items([row | {"response_model": model} for model in ("one", "two", None) for row in (ROW, more)])
    assert [(item.model, len(item.rubrics)) for item in found] == [("one", 2), ("two", 2), ("", 2)]
    assert found[2].id == items([ROW])[0].id, "a row that names no model keeps its id"


def test_only_labelled_rubrics_stand_alone() -> None:
    checklist = ["Names a river.", "Is brief.", "Is true."]
    (item,) = items([ROW | {"checklist": checklist, "rubric": text} for text in ("Is true.", "Names a river.")])
    assert [criterion.text for criterion in item.case.criteria] == checklist
    assert [criterion.text for criterion in item.labelled.criteria] == ["Is true.", "Names a river."]


@pytest.mark.parametrize(
    ("theirs", "ours", "reason"),
    [
        ({"rubric_type": "Style-Tone"}, {"rubric_type": "style_tone"}, "as the paper prints types"),
        ({"rubric_type": 9, "dimension": 3}, {"rubric_type": "style_tone"}, "numbers of class labels, as in Parquet"),
        ({"instruction_category": "System"}, {}, "and categories"),
        ({"checklist": '["Names a river.", "Is true."]'}, {"checklist": ["Names a river.", "Is true."]}, "as in CSV"),
        ({"checklist": ["Names a river."], "rubric_index": 0, "rubric": None}, {}, "the place says the rubric"),
        ({"rubric_index": "0"}, {"rubric_index": 0}, "a number, as in CSV"),
        ({"rubric_index": ""}, {}, "an empty cell"),
        ({"context": " ", "reference": ""}, {}, "blank is none"),
    ],
)
def test_one_grammar_for_all_readers(tmp_path: Path, theirs: dict[str, Any], ours: dict[str, Any], reason: str) -> None:
    whole = ROW | {"instruction_id": "i", "response_id": "r", "response_model": "m", "source_benchmark": "s"}
    whole |= {"language": "EN", "checklist": [ROW["rubric"]], "rubric_type": None}
    assert items([whole | theirs]) == items([whole | ours]), reason
    assert published(Record("here", whole | theirs)) == published(Record("here", whole | ours))
    found = read("rubric_eval:" + write_jsonl(tmp_path / "rows.jsonl", [whole | theirs]))
    assert found == items([whole | ours])


def test_a_response_may_be_missing_only_where_nobody_judged_it(tmp_path: Path) -> None:
    open_row, judged = ROW | {"response": None, "label": None}, ROW | {"response": None}
    path = write_jsonl(tmp_path / "rows.jsonl", [open_row, judged, open_row | {"rubric": "Is true."}])
    found = read(f"rubric_eval:{path}")
    assert [(item.answered, item.case.response, len(item.rubrics)) for item in found] == [(False, "", 2)]
    assert "line 2: field 'response' must be a text" in str(found.left_out)
    with pytest.raises(UserError, match="row 1: field 'response' must be a text"):
        items([open_row])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"messages": []}, "row 1: field 'messages'"),
        ({"messages": [{"role": "assistant", "content": "Hello."}]}, "must end with the user's message"),
        ({"messages": [{"role": "tool", "content": "x"}]}, r"row 1: field 'messages\[0\].role' is 'tool'"),
        ({"response": None}, "field 'response' must be a text"),
        ({"rubric": " "}, "field 'rubric' must be a text"),
        ({"label": "maybe"}, "field 'label' must be yes or no"),
        ({"label": ["yes"]}, "field 'label' must be yes or no"),
        ({"label": 2}, "field 'label' must be yes or no"),
        (
            {"instruction_category": "systems"},
            "row 1: field 'instruction_category' is 'systems', which is none of constrained, .*, system$",
        ),
        ({"rubric_type": "tone"}, "field 'rubric_type' is 'tone', which is none of content_inclusion, "),
        ({"checklist": ["a", 1]}, "field 'checklist' must be a list of texts"),
        ({"checklist": ["Something else."]}, "field 'rubric_index' must be a place"),
        ({"checklist": ["Something else."], "rubric_index": 0}, "field 'rubric' is not entry 0"),
        ({"rubric_index": 7}, "'rubric_index' must be a place in 'checklist', 0 to 0"),
        ({"id": "x", "rubric_index": True}, r"row 1 \(x\)"),
        (
            {"rubric_type": "style_tone", "dimension": "form"},
            "field 'dimension' must be style, the dimension of style_tone",
        ),
        ({"context": ["a"]}, "field 'context' must be a text or null"),
        ({"reference": 7}, "field 'reference' must be a text or null"),
    ],
)
def test_rows_that_cannot_be_used(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        items([ROW | change])


def test_rows_of_one_response_must_fit_together() -> None:
    named = ROW | {"response_id": "r"}
    with pytest.raises(UserError, match="row 2: field 'response' differs"):
        items([named, named | {"response": "The Elbe.", "rubric": "Is brief."}])
    with pytest.raises(UserError, match="more than one row for rubric_index 0"):
        items([named, named])
    with pytest.raises(UserError, match="row 2: field 'reference' differs"):
        items([named, named | {"reference": "An answer.", "rubric": "Is brief."}])
    with pytest.raises(UserError, match="row 2: field 'context' differs"):
        items([named, named | {"context": "A document.", "rubric": "Is brief."}])
    with pytest.raises(UserError, match=r"row 3 \(x\): id 'x' is that of row 1 \(x\) too; every row needs its own"):
        items([ROW | {"id": "x"}, ROW | {"id": "y", "rubric": "Is true."}, ROW | {"id": "x", "response": "The Elbe."}])
    with pytest.raises(UserError, match="no rows"):
        items([])


def test_files_folders_and_their_faults(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    lines = write_jsonl(tmp_path / "rows.jsonl", [ROW, "", ROW | {"response": "The Elbe."}])
    folder = tmp_path / "splits"
    folder.mkdir()
    parquet.write_table(pyarrow.Table.from_pylist([ROW]), folder / "hard-00000-of-00001.parquet")
    write_jsonl(folder / "easy.jsonl", [ROW | {"split": "", "response": "a"}, ROW | {"split": "own", "response": "b"}])
    assert len(items(load(lines))) == 2
    assert [item.rubrics[0].split for item in items(load(str(folder)))] == ["easy", "own", "hard"]
    assert items(load(str(folder)))[2].case == items([ROW])[0].case
    with pytest.raises(UserError, match="line 2: not JSON"):
        load(write_jsonl(tmp_path / "bad.jsonl", [ROW, "{"]))
    (tmp_path / "bad.parquet").write_bytes(b"no table")
    with pytest.raises(UserError, match="not a Parquet file"):
        load(str(tmp_path / "bad.parquet"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match=r"holds no \.jsonl"):
        load(str(tmp_path / "empty"))


def test_a_limit_takes_all_instructions_in_turn() -> None:
    found = items(load("rubric_mini"))
    few = selection(found).sampled(44, 0)
    assert len({item.instruction_id for item in few}) == 44
    assert selection(found).sampled(10_000, 0) == found
    assert {item.id for item in few} < {item.id for item in selection(found).sampled(60, 0)}
    assert {item.category for item in selection(found).sampled(8, 0)} == {item.category for item in found}
    assert len({item.language for item in selection(found).sampled(12, 0)}) >= 6


def test_the_hash_is_that_of_the_content() -> None:
    def data_hash(rows: list[dict[str, Any]]) -> str:
        return selection(found := items(rows)).sha256(found)

    assert data_hash([ROW]) == data_hash([dict(ROW)])
    for change in (
        {"context": "c"},
        {"reference": "c"},
        {"label": "no"},
        {"response": "x"},
        {"rubric": "y"},
        {"split": "hard"},
        {"instruction_id": "i"},
    ):
        assert data_hash([ROW]) != data_hash([ROW | change]), change
