"""`truebench study checklist generate`: what is asked, what is kept and counted, and what is said where nothing comes of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import command, script, write_jsonl
from truebench_hf.benchmarks.tick.checklists import GenerateChecklistOptions, GenerateChecklists
from truebench_hf.data import jsonl
from truebench_hf.errors import UserError

DATA: list[dict[str, Any]] = [
    {"id": "few", "prompt": "Say alfa.", "criteria": ["Is it secret?"], "reference": "secret"},
    {"id": "many", "prompt": "Say bravo."},
    {"id": "none", "prompt": "Say charlie."},
    {"id": "talk", "turns": ["One?", "Two?"]},
]
MANY = "\n".join(f"Is it {n}?" for n in range(10))


@pytest.fixture
def spec(tmp_path: Path) -> str:
    write_jsonl(tmp_path / "data.jsonl", DATA)
    rules = [
        {"contains": "Say alfa", "reply": "Analysis: 하나.\nQuestions:\n짧은가?\n짧은가 ?\nThat is all."},
        {"contains": "Say bravo", "reply": f"Analysis: long.\nQuestions:\n{MANY}"},
    ]
    return script(tmp_path / "writer.json", rules, {"reply": "I would rather not."})


def run(folder: Path, spec: str, **more: Any) -> Any:
    given = {"data": str(folder / "data.jsonl"), "model": spec, "out": str(folder / "out")}
    given |= {"model_arg": (f"record={folder / 'asked'}",)} if "generator" not in more else {}
    return GenerateChecklists(GenerateChecklistOptions(**given | more)).run()


def rows(folder: Path, name: str = "checklists.jsonl") -> list[Any]:
    return [row for _, row in jsonl.read(folder / "out" / name)]


def test_what_is_kept_and_counted(tmp_path: Path, spec: str) -> None:
    outcome = run(tmp_path, spec)
    few, many, none = rows(tmp_path)
    assert few == {"id": "few", "prompt": "Say alfa.", "reference": "secret", "criteria": ["짧은가?"], "source": "generator",
                   "generator": spec, "analysis": "Analysis: 하나.", "duplicates": 1, "others": 1}  # fmt: skip
    assert len(many["criteria"]) == 10, "none is cut"
    assert (none["criteria"], none["problem"]) == ([], "it has no line `Questions:`")
    told = json.loads((tmp_path / "out" / "scores.json").read_text("utf-8"))
    counts = {"instructions": 2, "checklists": 2, "mean": 5.5, "outside_usual": 1.0, "duplicates": 1, "others": 1}
    assert told["checklists"] == [{"source": name, **counts} for name in ("all", "written by the generator")]
    assert [(row["questions"], row["checklists"]) for row in told["lengths"]] == [(1, 1), (10, 1)]
    assert told["without_checklist"] == [{"id": "none", "reason": "it has no line `Questions:`"}]
    assert told["notes"] == ["Rows of the data left out: 1 (the first: talk: 2 turns to be answered)."]
    assert outcome.incomplete == 1
    asked = ["".join(texts) for _, texts in jsonl.read(tmp_path / "asked")]
    assert len(asked) == 2 + 3, "what holds no question is asked again, twice"
    assert not any("secret" in text for text in asked), "neither given criteria nor a reference are shown"


def test_another_model_writes_what_a_file_lacks(tmp_path: Path, spec: str) -> None:
    run(tmp_path, spec)
    other = script(tmp_path / "other.json", [], {"reply": "Questions:\nIs it c?"})
    outcome = run(tmp_path, other, checklists=str(tmp_path / "out" / "checklists.jsonl"), out=str(tmp_path / "two"))
    assert [row.get("generator") for row in outcome.value] == [spec, spec, other]
    assert [row["source"] for row in outcome.value] == ["file", "file", "generator"]
    assert outcome.incomplete == 0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"model": None}, "--model SPEC"),
        ({"generator": "smollm2"}, "--model SPEC"),
        ({"data": None}, "--data or --instruction"),
        ({"data": "nowhere.jsonl"}, "checklists_mini"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, spec: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        run(tmp_path, spec, **given)


def test_empty_data_is_refused(tmp_path: Path, spec: str) -> None:
    (tmp_path / "data.jsonl").write_text("\n", encoding="utf-8")
    with pytest.raises(UserError, match="holds no records"):
        run(tmp_path, spec)


def test_one_instruction_has_its_questions_printed(tmp_path: Path, spec: str) -> None:
    done = command(
        "study", "checklist", "generate", "--instruction", "Say alfa.", "--generator", spec, "--out", "o", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "짧은가?" in done.stdout
    done = command(
        "study", "checklist", "generate", "--instruction", "Say no.", "--model", spec, "--out", "p", cwd=tmp_path
    )
    assert done.returncode == 3
    assert "it has no line `Questions:`" in done.stdout
