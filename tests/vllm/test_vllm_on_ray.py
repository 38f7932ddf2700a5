"""`--engine ray` with `vllm:`: a worker of Ray holds the engine, and decides as the engine in this process does."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import row, script, write_jsonl

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(600)]

ARGUMENTS = ("dtype=float32", "enforce_eager=true", "kv_cache_gib=1")


def decided(out: Path) -> dict[str, list[float]]:
    """The probabilities in the ledger of a folder, by key."""
    with sqlite3.connect(out / "ledger.sqlite") as db:
        rows = db.execute("SELECT key, result FROM calls WHERE role = 'judge'").fetchall()
    db.close()
    return {key: json.loads(result)["probabilities"] for key, result in rows}


def test_a_judge_on_a_worker_decides_as_it_does_here(tmp_path: Path) -> None:
    things = [("sky", "Blue."), ("grass", "It is green."), ("snow", "I do not know."), ("coal", "Black, of course.")]
    rows = [row(n, [(f"Which colour is the {thing}?", ["names a colour", "is one word"])]) for n, (thing, _) in enumerate(things)]  # fmt: skip
    rules = [{"contains": f"the {thing}?", "reply": answer} for thing, answer in things]
    given: dict[str, Any] = {
        "data": write_jsonl(tmp_path / "data.jsonl", rows), "model": script(tmp_path / "script.json", rules),
        "judge": "vllm:.venv-vllm/smollm2", "judge_arg": ARGUMENTS, "judge_level": "decision",
    }  # fmt: skip
    here = truebench_hf.run(**given, out=str(tmp_path / "here"))
    there = truebench_hf.run(**given, out=str(tmp_path / "there"), engine="ray")
    assert there.scores == here.scores
    expected, found = decided(tmp_path / "here"), decided(tmp_path / "there")
    assert found.keys() == expected.keys(), "a relative folder is the same model to the ledger"
    assert len(expected) == 4
    for key, shares in expected.items():
        assert found[key] == pytest.approx(shares, abs=1e-3)  # rounding: what is computed together differs
