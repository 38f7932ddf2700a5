"""Several answers of a model to every document in `facts run`: documents stay the units, and one baseline serves all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_facts_run import DOCUMENTS, lines, ran
from tests.support.facts import verdict
from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.facts.run import FactsOptions
from truebench_hf.benchmarks.facts.scores import read_frame, scores_by_document
from truebench_hf.errors import UserError


def given(folder: Path, **more: Any) -> dict[str, Any]:
    """Of a one answer is grounded for both judges, the other for the second only; of b one is, one the first cannot read."""
    said = [
        {"contains": "Where?", "reply": ["In Paris.", "In Rome."]}, {"contains": "When?", "reply": ["In May.", "Mumble."]}
    ]  # fmt: skip
    fine = {"contains": "<response_", "reply": verdict(True)}
    first = [{"contains": "In Rome.", "reply": verdict(False)}, {"contains": "Mumble.", "error": "what?"}, fine]
    judges = script(folder / "first.json", first), script(folder / "second.json", [fine])
    return {
        "data": write_jsonl(folder / "d.jsonl", DOCUMENTS), "model": script(folder / "model.json", said), "judge": judges,
        "model_arg": (f"record={folder / 'asked'}",), "eligibility": "none", "samples": 2, "temperature": 1.0,
    } | more  # fmt: skip


def test_documents_are_the_units(tmp_path: Path) -> None:
    outcome, scores = ran(tmp_path / "run", **given(tmp_path))
    told = [(row["unadjusted"]["value"], row["unadjusted"]["n"]) for row in scores["judges"]]
    assert told == [(0.75, 2), (1.0, 2), (0.875, 2)], "(1/2 + 1 of what was read) / 2, and all; then the mean"
    assert (outcome.value.mean["answers"], outcome.incomplete) == (4, 1)
    repeats = {row["name"].rpartition(": ")[2]: row["score"] for row in scores["scores"] if ": " in row["name"]}
    assert {name: (score["value"], score["n"], score["unscored"]) for name, score in repeats.items()} == {
        "mean": (0.75, 2, 0), "any of 2": (1.0, 2, 0), "all of 2": (0.0, 1, 1)
    }  # fmt: skip
    assert [row["answer"] for row in scores["unscored"]] == ["b (sample 2)"]
    assert [(row["id"], row["sample"]) for row in lines(tmp_path / "run")] == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2)
    ]  # fmt: skip
    row = outcome.ranking.board().rows[0]
    assert (row.scores["final"].n, row.facts["Samples"]) == (2, "2")
    by_document = scores_by_document(read_frame(tmp_path / "run"))
    assert by_document == {"a": 0.75, "b": 1.0}, "what models are compared by"


def test_one_answer_becomes_the_first_of_two(tmp_path: Path) -> None:
    _, scores = ran(tmp_path / "run", **given(tmp_path, samples=1))
    assert [row["name"] for row in scores["scores"]] == ["Unadjusted"], "one sample is not repeated"
    assert "sample" not in lines(tmp_path / "run")[0]
    ran(tmp_path / "run", **given(tmp_path))
    asked = [json.loads(line)[-1] for line in (tmp_path / "asked").read_text().splitlines()]
    assert len(asked) == 4


def test_given_answers_are_as_many_as_there_are() -> None:
    with pytest.raises(UserError, match="--samples goes with --model"):
        FactsOptions(out="o", data="facts_mini", answers="a.jsonl", judge=("smollm2",), samples=2, temperature=1.0)
