"""STICK with the embedded model on real prompts: too weak to improve anything, yet everything it says is accounted for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truebench_hf.benchmarks.tick.best_of.study import BestOf, BestOfOptions
from truebench_hf.benchmarks.tick.refine.study import Refine, RefineOptions
from truebench_hf.benchmarks.tick.refine.trace import STATUS

pytestmark = pytest.mark.slow  # about 40 s on two processors
SMALL: dict[str, Any] = {"data": "checklists_mini", "model": "smollm2", "limit": 1, "max_tokens": 24}


def test_smollm2_refines_and_every_version_is_judged(tmp_path: Path) -> None:
    result = Refine(RefineOptions(**SMALL, iterations=2, temperature=0.8, out=str(tmp_path / "out"))).run().value
    versions = [json.loads(line) for line in (tmp_path / "out" / "versions.jsonl").read_text().splitlines()]
    assert [row["iteration"] for row in versions] == list(range(len(versions)))
    assert all(row["status"] in STATUS and row["text"] for row in versions)
    for row in versions:
        assert all(verdict["label"] in ("yes", "no") and "P(yes)" in verdict["reason"] for verdict in row["verdicts"])
        assert 0 <= row["own_score"] <= 1
    assert result["incomplete"] == 0


def test_smollm2_selects_among_its_answers(tmp_path: Path) -> None:
    result = BestOf(BestOfOptions(**SMALL, n=3, out=str(tmp_path / "out"))).run().value
    (row,) = [json.loads(line) for line in (tmp_path / "out" / "answers.jsonl").read_text().splitlines()]
    scores = [one["scores"]["stick"]["score"] for one in row["answers"]]
    assert [bool(one["selected_by"]) for one in row["answers"]] == [score == max(scores) for score in scores]
    assert 1 <= result["tied"]["stick"] <= 3
