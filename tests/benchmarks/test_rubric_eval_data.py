"""Rows of RubricEval and a researcher's own labels: what is read, derived and refused, and what agreement comes of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import truebench_hf
from tests.support.corpus import each_row
from tests.support.runs import Done, command_here, script, write_jsonl
from truebench_hf.benchmarks.rubric_eval.data import items, labelled_items, load, read, selection
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.loaders.rubric_eval import row as published
from truebench_hf.types import Score

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


SOME = {"prompt": "Name a fruit", "response": "Plum", "criterion": "names a fruit", "label": 1}


@each_row(__file__, "rubric_eval_data", "unusable")
def test_rows_that_cannot_be_used_are_named(reader: str, rows: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(UserError, match=message):
        {"items": items, "labelled_items": labelled_items}[reader](rows)


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


# Four columns, from a file and from Python


FRUIT = {"prompt": "Name a fruit", "response": "Plum", "criterion": "names a fruit", "label": 1}


def rows(count: int = 12) -> list[dict[str, Any]]:
    """Two criteria a prompt: the first is met, the second is not."""
    met = [{"prompt": f"Prompt {n}", "response": "Yes.", "criterion": "is short", "label": 1} for n in range(count)]
    unmet = [{"prompt": f"Prompt {n}", "response": "Yes.", "criterion": "is long", "label": 0} for n in range(count)]
    return [row for pair in zip(met, unmet, strict=True) for row in pair]


@pytest.fixture
def judge(tmp_path: Path) -> str:
    """Right about all but the prompts 0 and 1, whose second criterion it takes to be met."""
    lenient = [{"contains": ["<criteria", f"Prompt {n}<"], "verdicts": {}} for n in (0, 1)]
    lenient += [{"contains": ["<criteria", f"Prompt {n}\n"], "verdicts": {}} for n in (0, 1)]
    return script(tmp_path / "judge.json", [*lenient, {"contains": "<criteria", "verdicts": {"is long": "FAIL"}}])


Wide = Callable[..., Done]


@pytest.fixture
def wide(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Wide:
    """The command on a wide screen."""
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: command_here(capsys, *arguments)


def test_a_file_of_four_columns_ends_in_a_table_for_a_screen(tmp_path: Path, judge: str, wide: Wide) -> None:
    pd.DataFrame(rows()).to_csv(tmp_path / "labels.csv", index=False)
    out, source = tmp_path / "out", str(tmp_path / "labels.csv")
    done = wide("metaeval", "--data", source, "--judge", judge, "--paradigms", "checklist,rubric", "--out", str(out))
    assert done.returncode == 0, done.stderr
    table = [line for line in done.stdout.splitlines() if "│" in line or "┃" in line]
    paradigms = [cells[2].strip() for cells in (line.split("│") for line in table[1:]) if cells[2].strip()]
    assert paradigms == ["checklist", "rubric"], "a row a judge and paradigm, and nothing beside; long names are broken"
    assert max(map(len, table)) <= 100
    names = [cell.strip() for cell in table[0].strip("┃").split("┃")]
    assert names == ["Judge", "Paradigm", "BAcc", "95 % interval", "macro F1", "kappa", "decided"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "Paper rows" not in page
    assert "by category" not in page, "no categories, so no table by category"
    (found, _) = json.loads((out / "scores.json").read_text(encoding="utf-8"))["judges"]
    assert found["balanced_accuracy"]["value"] == pytest.approx((1 + 10 / 12) / 2)
    assert found["kappa"]["value"] == pytest.approx(10 / 12)
    assert found["kappa"]["interval"][0] < 10 / 12 <= found["kappa"]["interval"][1] <= 1
    assert found["mean"]["value"] is None


@pytest.mark.parametrize("form", ["frame", "dicts", "file", "gaps"])
def test_judge_agreement_in_python(tmp_path: Path, judge: str, form: str) -> None:
    given: Any = rows()
    unlabelled = 0
    if form == "frame":
        given = pd.DataFrame(given).set_index(pd.Index([0] * len(given)))
    elif form == "file":
        pd.DataFrame(given).to_parquet(tmp_path / "labels.parquet")
        given = tmp_path / "labels.parquet"
    elif form == "gaps":  # a missing label makes floats of the others
        given, unlabelled = pd.DataFrame([*given, FRUIT | {"label": None}]), 1
    found = truebench_hf.judge_agreement(given, judge=judge, paradigms="rubric")
    (row,) = found.to_dict("records")
    assert (row["judge"], row["paradigm"]) == (judge, "rubric")
    counts = [row[name] for name in ("n", "undecided", "unlabelled", "tp", "tn", "fp", "fn")]
    assert counts == [24, 0, unlabelled, 12, 10, 2, 0]
    assert isinstance(row["balanced_accuracy"], Score)
    assert row["accuracy"].value == pytest.approx(22 / 24)
    assert row["accuracy"].ci95 is not None


def test_judge_agreement_by_group_and_of_several_judges(tmp_path: Path, judge: str) -> None:
    data_ = pd.DataFrame(
        [row | {"language": "de" if n < 8 else "en", "category": "gold"} for n, row in enumerate(rows())]
    )
    lax = script(tmp_path / "lax.json", [{"contains": "<criteria", "verdicts": {}}])
    found = truebench_hf.judge_agreement(
        data_, judge=[judge, lax], by=["language", "category"], paradigms="rubric", out=tmp_path / "kept"
    )
    assert list(found[["judge", "language"]].itertuples(index=False, name=None)) == [
        (name, language) for name in (judge, lax) for language in ("de", "en")
    ]
    assert set(found["category"]) == {"gold"}  # groups have the name that they were asked by
    assert list(found.loc[found["judge"] == judge, "fp"]) == [2, 0]
    assert (tmp_path / "kept" / "scores.json").exists()


def test_judge_agreement_refuses_what_is_wrong(judge: str) -> None:
    with pytest.raises(UserError, match="by='mood': the groups are category, language"):
        truebench_hf.judge_agreement(rows(1), judge=judge, by=["mood"], paradigms="rubric")
    with pytest.raises(UserError, match="no row has a label"):
        truebench_hf.judge_agreement([FRUIT | {"label": None}], judge=judge)
    with pytest.raises(UserError, match="holds no rows"):
        truebench_hf.judge_agreement([], judge=judge)
