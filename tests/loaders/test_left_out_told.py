"""Rows that a command could not use stand in its report, not only on stderr."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.loaders.test_sources import RECORDS
from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.benchmarks.truebench import data
from truebench_hf.data.row_files import unusable


@pytest.fixture
def dirty(tmp_path: Path) -> str:
    """Three conversations of HealthBench, of which the second has no rubrics."""
    rows: list[dict[str, Any]] = [RECORDS["healthbench"] | {"prompt_id": name} for name in ("a", "b", "c")]
    rows[1] = rows[1] | {"rubrics": []}
    return f"healthbench:{write_jsonl(tmp_path / 'hb.jsonl', rows)}"


def test_commands_on_instances_tell_of_rows_left_out(
    dirty: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = script(tmp_path / "model.json", [], {"reply": "At most five cups."})
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    answers = write_jsonl(tmp_path / "a.jsonl", [{"id": f"healthbench-{n}", "response": "Five cups."} for n in "ac"])
    for words in (
        ["run", "--data", dirty, "--model", model, "--judge", judge],
        ["judge", "--responses", answers, "--data", dirty, "--model-name", "m", "--judge", judge],
        ["data", "rules", "--data", dirty],
        ["study", "validate", "--data", dirty, "--validator", judge, "--estimate"],
    ):
        out = tmp_path / words[0]
        done = command_here(capsys, *words, "--out", str(out))
        told = " ".join(done.stdout.split())
        assert done.returncode == 0, done.stderr
        assert "Rows of the data left out: 1 (the first:" in told, words[0]
        assert "hb.jsonl, line 2: field 'rubrics' must be" in told, words[0]
        assert (out / "report.html").is_file() <= ("Rows of the data left out" in _text(out / "report.html"))


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def test_a_selection_keeps_what_was_left_out(dirty: str) -> None:
    every = data.load(dirty)
    assert len(every) == 2
    (why,) = unusable(data.select(every, [], ["communication"]))
    assert "line 2" in why
    assert unusable(data.load("mini")) == unusable(data.select(data.load("mini"), ["de"], [])) == ()
