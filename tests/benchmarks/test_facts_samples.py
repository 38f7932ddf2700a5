"""Several answers of a model to every document in `facts run`: documents stay the units, and one baseline serves all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.test_facts_run import DOCUMENTS, lines, ran
from tests.support.facts import verdict
from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.facts.options import FactsOptions
from truebench_hf.benchmarks.facts.rank import join
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
    cell = scores["scores"]["all"]
    first, second = cell["judges"].values()
    told = [(one["unadjusted"]["value"], one["unadjusted"]["n"]) for one in (first, second, cell["mean"])]
    assert told == [(0.75, 2), (1.0, 2), (0.875, 2)], "(1/2 + 1 of what was read) / 2, and all"
    assert (cell["answers"], outcome.incomplete) == (4, 1)
    found = {name: (one["value"], one["n"], one["unscored"]) for name, one in scores["repeated_samples"].items()}
    assert found == {"mean": (0.75, 2, 0), "any_of_2": (1.0, 2, 0), "all_of_2": (0.0, 1, 1)}
    assert list(scores["undecided"]["answers"]) == ["b (sample 2)"]
    assert [(row["id"], row["sample"]) for row in lines(tmp_path / "run")] == [
        ("a", 1), ("a", 2), ("b", 1), ("b", 2)
    ]  # fmt: skip
    assert any(section.title.startswith("Repeated samples") for section in outcome.sections)
    row = outcome.board.rows[0]
    assert (row.scores["final"].n, row.facts["Samples"]) == (2, "2")
    joined = join([str(tmp_path / "run")])
    ((_, splits),) = joined.models.items()
    assert next(iter(splits.values())).by_document == {"a": 0.75, "b": 1.0}, "what models are compared by"


def test_one_answer_becomes_the_first_of_two(tmp_path: Path) -> None:
    _, scores = ran(tmp_path / "run", **given(tmp_path, samples=1))
    assert "repeated_samples" not in scores
    assert "sample" not in lines(tmp_path / "run")[0]
    ran(tmp_path / "run", **given(tmp_path))
    asked = [json.loads(line)[-1] for line in (tmp_path / "asked").read_text().splitlines()]
    assert len(asked) == 4


def test_given_answers_are_as_many_as_there_are() -> None:
    with pytest.raises(UserError, match="--samples goes with --model"):
        FactsOptions(out="o", data="facts_mini", answers="a.jsonl", judge=("smollm2",), samples=2, temperature=1.0)
