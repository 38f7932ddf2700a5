"""Malformed input: the message names the file, the line and the field, and nothing is left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from truebench_hf.benchmarks.rubric_eval.mini import rows as rubric_rows
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export

PACKAGE = Path(truebench_hf.__file__).parent / "benchmarks"


def first(path: str) -> dict[str, Any]:
    with (PACKAGE / path).open(encoding="utf-8") as file:
        return dict(json.loads(file.readline()))


TRUEBENCH = first("truebench/mini.jsonl")
RUBRIC = {**rubric_rows(seed=0)[0], "split": "easy"}
LIST = first("tick/checklists_mini.jsonl")
ANSWER, PREFERENCE = LIST["answers"][0], LIST["preferences"][0]
OTHER = "compositional" if RUBRIC["instruction_category"] != "compositional" else "system"
SECOND: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    # set, a good row, what is wrong with the row after it, and what must be said
    ("truebench", TRUEBENCH, {"index": "two"}, "line 2: field 'index' must be a number"),
    ("truebench", TRUEBENCH, {"turns": 7, "index": 2}, "line 2: field 'turns' is 7"),
    ("truebench", TRUEBENCH, {"criteria": [], "index": 2}, "line 2: field 'criteria'"),
    ("truebench", TRUEBENCH, {"language": None, "index": 2}, "line 2: field 'language'"),
    ("truebench", TRUEBENCH, {}, "row 2: field 'index' is 1, which stands twice"),
    ("rubric_eval", RUBRIC, {"id": "b", "label": "maybe"}, "line 2: field 'label' is 'maybe', which is neither yes nor no"),
    ("rubric_eval", RUBRIC, {"id": "b", "rubric_index": 99}, "line 2: field 'rubric_index' must be a place"),
    ("rubric_eval", RUBRIC, {"id": "b", "rubric": "another"}, "line 2: field 'rubric' is not entry"),
    ("rubric_eval", RUBRIC, {"id": "b", "rubric_type": "taste"}, "line 2: field 'rubric_type' is 'taste'"),
    ("rubric_eval", RUBRIC, {"id": "b", "dimension": "taste"}, "line 2: field 'dimension' is 'taste'"),
    ("rubric_eval", RUBRIC, {"id": "b", "messages": []}, "line 2: field 'messages'"),
    ("rubric_eval", RUBRIC, {"id": "b", "messages": [{"role": "assistant", "content": "x"}]}, "must end with the user's"),
    ("rubric_eval", RUBRIC, {"id": "b", "split": "medium"}, "line 2: field 'split' is 'medium', which is none of easy, hard"),
    ("rubric_eval", RUBRIC, {}, "line 2: field 'id' is"),
    ("checklists", LIST, {"id": "b", "responses": "x"}, "line 2: field 'responses' must be a list"),
    ("checklists", LIST, {"id": "b", "extra": 1}, "line 2: field 'extra' is no column of this set"),
    ("checklists", LIST, {"id": "b", "answers": [{**ANSWER, "answers": ["yes"]}]}, "b: field 'answers' must hold yes or no for each"),
    ("checklists", LIST, {"id": "b", "answers": [{**ANSWER, "response_id": "?"}]}, "field 'answers' names response '?'"),
    ("checklists", LIST, {"id": "b", "preferences": [{**PREFERENCE, "rating": 6}]}, "has the rating 6, not 1 to 5"),
    ("checklists", LIST, {"id": "b", "preferences": [{**PREFERENCE, "rating": True}]}, r"'preferences\[0\].rating' must be a whole"),
    ("checklists", LIST, {}, "row 2: field 'id' is 'tick-mini-01', which stands twice"),
    ("facts_grounding", dict.fromkeys(("system_instruction", "user_request", "context_document", "full_prompt"), "x"),
     {"full_prompt": ""}, "line 2: field 'full_prompt' must be a text that is not blank"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "good", "wrong", "told"), SECOND, ids=[f"{c[0]}: {c[3]}" for c in SECOND])
def test_the_second_row_is_wrong(
    tmp_path: Path, name: str, good: dict[str, Any], wrong: dict[str, Any], told: str
) -> None:
    source = tmp_path / "rows.jsonl"
    source.write_text(f"{json.dumps(good)}\n{json.dumps({**good, **wrong})}\n", encoding="utf-8")
    with pytest.raises(UserError, match=told):
        export(name, tmp_path / "out", source=str(source))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.jsonl"]
    source.write_text(json.dumps(good), encoding="utf-8")
    assert export(name, tmp_path / "out", source=str(source)).facts.rows["all"]  # the good row alone is fine


FLEX = {name: [first(f"flexbench/samples/{name}.jsonl")] for name in ("instructions", "dimensions", "conversations")}
FLEX["conversations"][0] |= {"target_dimensions": ["td-01"], "verdicts": [{"dimension_id": "td-01", "label": "yes"}]}
DANGLING: list[tuple[str, dict[str, Any], str]] = [
    ("dimensions", {"instruction_id": "none"}, "td-01: field 'instruction_id' names 'none'"),
    ("conversations", {"target_dimensions": ["td-99"]}, "field 'target_dimensions' names 'td-99'"),
    ("conversations", {"verdicts": [{"dimension_id": "td-99", "label": "no"}]}, "field 'verdicts' names 'td-99'"),
    ("conversations", {"verdicts": [{"dimension_id": "td-01", "label": "perhaps"}]}, r"'verdicts\[0\].label' is 'perhaps'"),
    ("instructions", {"words": "many"}, "instructions.jsonl, line 1: field 'words' must be a whole number"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "wrong", "told"), DANGLING, ids=[case[2] for case in DANGLING])
def test_flexbench_references_must_hold(tmp_path: Path, config: str, wrong: dict[str, Any], told: str) -> None:
    folder = tmp_path / "flex"
    folder.mkdir()
    for name, rows in FLEX.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert len(truebench_hf.load("flexbench", config, "test", source=str(folder))) == 1
    (folder / f"{config}.jsonl").write_text(json.dumps({**FLEX[config][0], **wrong}), encoding="utf-8")
    with pytest.raises(UserError, match=told):
        export("flexbench", tmp_path / "out", source=str(folder))


FILES: list[tuple[str, bytes, str]] = [
    ("not JSON", b'{"index": 1\n', "line 1: not JSON"),
    ("not an object", b"[1]\n", "line 1: must be an object"),
    ("not UTF-8", b'{"index": "\xff"}\n', "line 1: not JSON"),
    ("empty", b"\n\n", "holds no records"),
]


@pytest.mark.parametrize(("what", "content", "told"), FILES, ids=[case[0] for case in FILES])
def test_files_that_are_none(tmp_path: Path, what: str, content: bytes, told: str) -> None:
    (tmp_path / "rows.jsonl").write_bytes(content)
    with pytest.raises(UserError, match=told):
        truebench_hf.load("truebench", source=str(tmp_path / "rows.jsonl"))


OPTIONS: list[tuple[str, dict[str, Any], str]] = [
    ("rubric_mini", {"source": "x.jsonl"}, "no such file"),
    ("rubric_mini", {"source": str(PACKAGE / "truebench" / "mini.jsonl")}, "is built in and takes no --source"),
    ("rubric_eval", {}, "needs --source"),
    ("facts_grounding", {}, "needs --source"),
    ("checklists", {}, "needs --source"),
    ("truebench", {"source": str(PACKAGE)}, "is a folder"),
    ("truebench", {"source": "http://127.0.0.1:9/rows.jsonl"}, "cannot be fetched"),
    ("truebench_mini", {"split": "blind"}, "takes no --split"),
    (
        "checklists",
        {"split": "blind", "source": str(PACKAGE / "tick" / "checklists_mini.jsonl")},
        "--split is only for",
    ),
    (
        "checklists",
        {"columns": {"a": "b"}, "source": str(PACKAGE / "tick" / "checklists_mini.jsonl")},
        "--column is only for",
    ),
    ("flexbench", {"source": str(PACKAGE / "tick")}, "holds no instructions.jsonl"),
    ("rubric_eval", {"source": str(PACKAGE / "rubric_eval" / "reference")}, "holds no .jsonl or .parquet files"),
]


@pytest.mark.parametrize(("name", "options", "told"), OPTIONS, ids=[f"{c[0]}: {c[2]}" for c in OPTIONS])
def test_options_that_do_not_fit(tmp_path: Path, name: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(UserError, match=told):
        export(name, tmp_path / "out", **options)
    assert list(tmp_path.iterdir()) == []
