"""Rows of RubricEval: what is read, what is derived, and what is refused with the row and field named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.rubric_eval.data import items, labelled_items, load, read, selection
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


@each_row(__file__, "rubric_eval_data", "grammar")
def test_one_grammar_for_all_readers(tmp_path: Path, theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    whole = ROW | {"instruction_id": "i", "response_id": "r", "response_model": "m", "source_benchmark": "s"}
    whole |= {"language": "EN", "checklist": [ROW["rubric"]], "rubric_type": None}
    assert items([whole | theirs]) == items([whole | ours])
    assert published(Record("here", whole | theirs)) == published(Record("here", whole | ours))
    found = read("rubric_eval:" + write_jsonl(tmp_path / "rows.jsonl", [whole | theirs]))
    assert found == items([whole | ours])


def test_a_response_may_be_missing_only_where_nobody_judged_it(tmp_path: Path) -> None:
    open_row, judged = ROW | {"response": None, "label": None}, ROW | {"response": None}
    path = write_jsonl(tmp_path / "rows.jsonl", [open_row, judged, open_row | {"rubric": "Is true."}])
    found = read(f"rubric_eval:{path}")
    assert [(item.answered, item.case.response, len(item.rubrics)) for item in found] == [(False, "", 2)]
    assert "line 2: field 'response' must be a text" in str(found.left_out)


NAMED, TRUE = ROW | {"response_id": "r"}, {"rubric": "Is true."}
BRIEF = {"rubric": "Is brief."}
SOME = {"prompt": "Name a fruit", "response": "Plum", "criterion": "names a fruit", "label": 1}


@pytest.mark.parametrize(
    ("reader", "rows", "message"),
    [
        (items, [], "no rows"),
        (items, [ROW | {"messages": []}], "row 1: field 'messages'"),
        (items, [ROW | {"messages": [{"role": "assistant", "content": "Hello."}]}], "must end with the user's message"),
        (items, [ROW | {"messages": [{"role": "tool", "content": "x"}]}], r"row 1: field 'messages\[0\].role' is 'tool'"),
        (items, [ROW | {"response": None}], "row 1: field 'response' must be a text"),
        (items, [ROW | {"response": None, "label": None}], "row 1: field 'response' must be a text"),
        (items, [ROW | {"rubric": " "}], "field 'rubric' must be a text"),
        (items, [ROW | {"label": "maybe"}], "field 'label' must be yes or no"),
        (items, [ROW | {"label": ["yes"]}], "field 'label' must be yes or no"),
        (items, [ROW | {"label": 2}], "field 'label' must be yes or no"),
        (items, [ROW | {"instruction_category": "systems"}],
         "row 1: field 'instruction_category' is 'systems', which is none of constrained, .*, system$"),
        (items, [ROW | {"rubric_type": "tone"}], "field 'rubric_type' is 'tone', which is none of content_inclusion, "),
        (items, [ROW | {"checklist": ["a", 1]}], "field 'checklist' must be a list of texts"),
        (items, [ROW | {"checklist": ["Something else."]}], "field 'rubric_index' must be a place"),
        (items, [ROW | {"checklist": ["Something else."], "rubric_index": 0}], "field 'rubric' is not entry 0"),
        (items, [ROW | {"rubric_index": 7}], "'rubric_index' must be a place in 'checklist', 0 to 0"),
        (items, [ROW | {"id": "x", "rubric_index": True}], r"row 1 \(x\)"),
        (items, [ROW | {"rubric_type": "style_tone", "dimension": "form"}],
         "field 'dimension' must be style, the dimension of style_tone"),
        (items, [ROW | {"context": ["a"]}], "field 'context' must be a text or null"),
        (items, [ROW | {"reference": 7}], "field 'reference' must be a text or null"),
        (items, [NAMED, NAMED | BRIEF | {"response": "The Elbe."}], "row 2: field 'response' differs"),
        (items, [NAMED, NAMED], "more than one row for rubric_index 0"),
        (items, [NAMED, NAMED | BRIEF | {"reference": "An answer."}], "row 2: field 'reference' differs"),
        (items, [NAMED, NAMED | BRIEF | {"context": "A document."}], "row 2: field 'context' differs"),
        (items, [ROW | {"id": "x"}, ROW | TRUE | {"id": "y"}, ROW | {"id": "x", "response": "The Elbe."}],
         r"row 3 \(x\): id 'x' is that of row 1 \(x\) too; every row needs its own"),
        (labelled_items, [SOME | {"label": "maybe"}], "^row 1: field 'label' must be yes or no, true or false, 1 or 0"),
        (labelled_items, [SOME | {"label": 2}], "^row 1: field 'label' must be yes or no"),
        (labelled_items, [SOME, SOME | {"prompt": " "}], "^row 2: field 'prompt' must be a text that is not blank"),
        (labelled_items, [SOME | {"response": None}], "^row 1: field 'response' must be a text"),
        (labelled_items, [SOME, SOME], "^row 2: field 'criterion' has a label for this response in row 1 too; keep one"),
        (labelled_items, [{k: SOME[k] for k in ("prompt", "response", "criterion")}],
         "^row 1: missing field 'label'; the file has prompt, response"),
        (labelled_items, [{k: SOME[k] for k in ("prompt", "response", "label")}], "^row 1: missing field 'criterion'"),
    ],
)  # fmt: skip
def test_rows_that_cannot_be_used_are_named(reader: Any, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        reader(rows)


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
    for name in ("context", "reference", "response", "rubric", "instruction_id"):
        assert data_hash([ROW]) != data_hash([ROW | {name: "x"}]), name
    assert len({data_hash([ROW | change]) for change in ({}, {"label": "no"}, {"split": "hard"})}) == 3


# A researcher's own labels: prompt, response, criterion, label and nothing else


@each_row(__file__, "rubric_eval_data", "labels")
def test_labels_as_people_write_them(label: Any, read: str | None) -> None:
    (item,) = labelled_items([SOME | {"label": label}])
    assert item.rubrics[0].label == read


def test_rows_of_a_response_are_one_item_wherever_they_stand() -> None:
    others = [SOME | {"response": "Pear"}, SOME | {"criterion": "is short", "label": "no"}]
    plum, pear = labelled_items([SOME, *others])
    assert [criterion.text for criterion in plum.case.criteria] == ["names a fruit", "is short"]
    assert [(rubric.index, rubric.label) for rubric in plum.rubrics] == [(0, "yes"), (1, "no")]
    assert plum.id != pear.id
    assert plum.instruction_id == pear.instruction_id, "rows of one prompt go together"
    assert (plum.category, plum.language, plum.case.category) == ("", "", None)


@each_row(__file__, "rubric_eval_data", "columns")
def test_columns_that_may_be_there(more: dict[str, Any], expected: tuple[Any, ...]) -> None:
    (item,) = labelled_items([SOME | more])
    (plain,) = labelled_items([SOME])
    category, language, cluster, kind = expected
    cluster = cluster or plain.instruction_id
    assert (item.category, item.language, item.instruction_id, item.case.category) == (
        category,
        language,
        cluster,
        kind,
    )
    assert item.rubrics[0].label == "yes"


def test_rows_of_other_groups_are_items_of_their_own() -> None:
    found = labelled_items(
        [SOME | {"category": "a"}, SOME | {"category": "b"}, SOME | {"category": "b", "criterion": "x"}]
    )
    assert [(item.category, len(item.rubrics)) for item in found] == [("a", 1), ("b", 2)]
    assert len({item.id for item in found}) == 2
