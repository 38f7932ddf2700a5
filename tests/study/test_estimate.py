"""`--estimate`: what a study would ask is counted by its own work, and nothing is asked or written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import script
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.benchmarks.truebench.run import Run

ROWS = [
    {"id": "a", "prompt": "Say hello.", "criteria": ["It says hello.", "It is short."]},
    {
        "id": "b",
        "turns": [{"prompt": "One.", "criteria": ["One?"]}, {"prompt": "Two.", "criteria": ["Two?", "Three?"]}],
    },
]


@pytest.fixture
def data(tmp_path: Path) -> str:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return str(file)


def options(data: str, tmp_path: Path, **more: Any) -> RunOptions:
    judge = script(tmp_path / "judge.json", [{"contains": "", "verdicts": {"Three?": "FAIL"}, "probability": 0.9}])
    model = script(tmp_path / "model.json", [], {"reply": "Hello."})
    return RunOptions(data=data, model=model, judge=(judge,), out=str(tmp_path / "out"), **more)


@pytest.mark.parametrize(
    ("level", "calls"),
    [("checklist", 3), ("rubric", 5), ("decision", 3)],
    ids=["a turn each", "a criterion each", "a turn each"],
)
def test_the_calls_are_those_of_the_run_and_nothing_is_written(
    data: str, tmp_path: Path, level: str, calls: int
) -> None:
    spent: Any = Run(options(data, tmp_path, judge_level=level, estimate=True)).run().value
    assert {part: usage.calls for part, usage in spent.items()} == {"model": 3, "judge": calls}
    assert spent["model"].output_tokens > 3 * 350, "answers of ordinary length"
    assert not (tmp_path / "out").exists()
    report = Run(options(data, tmp_path, judge_level=level)).run().value
    made = {part: usage["calls"] for part, usage in report.usage["total"].items()}
    assert made == {part: usage.calls for part, usage in spent.items()}


def test_what_the_folder_holds_is_not_counted_again(data: str, tmp_path: Path) -> None:
    Run(options(data, tmp_path, limit=1)).run()
    before = {file: file.read_bytes() for file in (tmp_path / "out").glob("*.*") if file.suffix != ".sqlite"}
    spent: Any = Run(options(data, tmp_path, estimate=True)).run().value
    alone: Any = Run(options(data, tmp_path, estimate=True, limit=1)).run().value
    assert alone == {}
    assert sum(usage.calls for usage in spent.values()) in (2, 4), "the calls of the other one"
    assert before == {file: file.read_bytes() for file in (tmp_path / "out").glob("*.*") if file.suffix != ".sqlite"}


def test_input_grows_with_the_texts_and_output_ends_at_the_limit(data: str, tmp_path: Path) -> None:
    short: Any = Run(options(data, tmp_path, estimate=True, max_tokens=7)).run().value
    assert short["model"].output_tokens == 3 * 7
    Path(data).write_text(json.dumps(ROWS[0] | {"prompt": "한" * 4000}) + "\n", encoding="utf-8")
    long: Any = Run(options(data, tmp_path, estimate=True)).run().value
    assert long["model"].input_tokens == 3001, "4,000 characters of 3 bytes, 4 bytes a token, and one begun"
