"""STICK with the embedded model on a real prompt: too weak to improve anything, yet all it says is accounted for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import write_jsonl
from truebench_hf.benchmarks.tick.best_of import BestOf, BestOfOptions
from truebench_hf.benchmarks.tick.refine import Refine, RefineOptions
from truebench_hf.benchmarks.tick.revision import STATUS

ROW = {
    "id": "a", "prompt": "Suggest a subject line for an e-mail that invites staff to a first-aid course on 8 October.",
    "criteria": ["Is the response a subject line?", "Does it include the date?"],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(900)  # under a minute on two free processors
def test_smollm2_refines_and_selects_and_every_answer_is_judged(tmp_path: Path) -> None:
    given: dict[str, Any] = {"data": write_jsonl(tmp_path / "d.jsonl", [ROW]), "model": "smollm2", "max_tokens": 16}
    result = Refine(RefineOptions(**given, iterations=1, out=str(tmp_path / "refine"))).run().value
    versions = [json.loads(line) for line in (tmp_path / "refine" / "versions.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in versions] == list(range(len(versions)))
    for row in versions:
        assert row["status"] in STATUS
        assert row["text"]
        assert all(verdict["label"] in ("yes", "no") and "P(yes)" in verdict["reason"] for verdict in row["verdicts"])
    assert "undecided" not in result

    result = BestOf(BestOfOptions(**given, n=2, out=str(tmp_path / "best"))).run().value
    (row,) = [json.loads(line) for line in (tmp_path / "best" / "answers.jsonl").read_text().splitlines()]
    scores = [one["scores"]["stick"]["score"] for one in row["answers"]]
    assert [bool(one["selected_by"]) for one in row["answers"]] == [score == max(scores) for score in scores]
    assert result["lines"].rows[0]["tied"] in (1, 2)
