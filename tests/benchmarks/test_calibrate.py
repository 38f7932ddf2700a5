"""`truebench study calibrate`: figures by hand, every call in the ledger, and what other runs make of its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.rubric_eval.calibration import CalibrateOptions, Fit, calibrate
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.errors import UserError

# Ten instructions with two rubrics each: of those the judge gives 0.9, eight are met, of those with 0.7 only two.
TRUTHS = [(i < 8, i >= 8) for i in range(10)]
SURE = [{"contains": "says 0.9", "probability": 0.9}, {"contains": "says 0.7", "probability": 0.7}]


def rows(pairs: list[tuple[bool, bool]] = TRUTHS) -> list[dict[str, Any]]:
    made = []
    for number, truths in enumerate(pairs):
        texts = [f"says {p} {'alpha' if met else 'beta'}" for p, met in zip(("0.9", "0.7"), truths, strict=True)]
        for index, (text, met) in enumerate(zip(texts, truths, strict=True)):
            made.append({
                "id": f"i{number}-c{index}", "instruction_id": f"i{number}", "response_id": f"i{number}-r0",
                "instruction_category": "constrained", "response": f"Answer {number}", "checklist": texts,
                "messages": [{"role": "user", "content": f"Instruction {number}"}], "rubric_index": index,
                "rubric": text, "label": "yes" if met else "no",
            })  # fmt: skip
    return made


def options(tmp_path: Path, **more: Any) -> CalibrateOptions:
    data = write_jsonl(tmp_path / "data.jsonl", rows())
    judge = script(tmp_path / "judge.json", SURE)
    return CalibrateOptions(**{"data": data, "judge": judge, "out": str(tmp_path / "out"), **more})


def accuracy(study: Fit, way: str) -> float:
    value = study.agreement[way].value
    assert value is not None
    return round(value, 6)


@pytest.mark.parametrize("kind", ["temperature", "platt", "isotonic"])
def test_figures_by_hand(tmp_path: Path, kind: str) -> None:
    study = calibrate(options(tmp_path, kind=kind))
    # 8 x 0.1^2 + 2 x 0.9^2 + 2 x 0.3^2 + 8 x 0.7^2 = 5.8 over 20 rows; bins are off by 0.1 and 0.5.
    assert study.before.brier == pytest.approx(0.29)
    assert study.before.ece == pytest.approx(0.3)
    assert accuracy(study, "as given, threshold 0.5") == 0.5, "it says yes to everything"
    assert accuracy(study, "calibrated, fitted threshold") == 0.8, "the threshold lies between the two"
    assert study.calibrated.calibrator.kind == kind
    low, high = (study.calibrated.calibrator.apply(p) for p in (0.7, 0.9))
    assert low <= study.calibrated.threshold <= high
    if kind != "temperature":  # which cannot move 0.7 to the other side of a half
        assert accuracy(study, "calibrated, threshold 0.5") == 0.8
        assert study.after.brier is not None
        assert study.after.brier < 0.2


def test_another_kind_of_calibration_asks_nothing(tmp_path: Path) -> None:
    record = tmp_path / "prompts.jsonl"
    calibrate(options(tmp_path, judge_arg=(f"record={record}",)))
    asked = record.read_text()
    assert len(asked.splitlines()) == 10, "one request per response, with both its questions"
    calibrate(options(tmp_path, judge_arg=(f"record={record}",), kind="isotonic"))
    assert record.read_text() == asked


# --- what a run makes of it -----------------------------------------------------------------------------------------


def scored(tmp_path: Path, out: str, **more: Any) -> tuple[list[list[str | None]], dict[str, Any]]:
    """Labels by instance and the settings of a run over two instances with the same criteria as above."""
    data = write_jsonl(
        tmp_path / "run.jsonl",
        [row(1, [("One", ["says 0.9 alpha", "says 0.7 beta"])]), row(2, [("Two", ["says 0.9 alpha"])])],
    )
    model, judge = script(tmp_path / "model.json", []), f"scripted:{tmp_path / 'judge.json'}"
    folder = tmp_path / out
    run(RunOptions(data=data, model=model, judge=(judge,), out=str(folder), **more))
    lines = (folder / "judgments.jsonl").read_text().splitlines()
    labels = [[v["label"] for turn in json.loads(line)["verdicts"] for v in turn] for line in lines]
    return labels, json.loads((folder / "run.json").read_text())["settings"]


def test_a_run_applies_calibrator_and_threshold_and_notes_them(tmp_path: Path) -> None:
    study = calibrate(options(tmp_path))
    file = str(tmp_path / "out" / "calibration.json")
    plain, _ = scored(tmp_path, "plain", judge_level="decision")
    assert plain == [["yes", "yes"], ["yes"]]
    labels, settings = scored(tmp_path, "calibrated", judge_level="decision", calibration=file)
    assert labels == [["yes", "no"], ["yes"]]
    assert settings["judging"]["calibrator"]["kind"] == "platt"
    assert settings["judging"]["threshold"] == study.calibrated.threshold
    own, _ = scored(tmp_path, "own", judge_level="decision", calibration=file, threshold=0.05)
    assert own == [["yes", "yes"], ["yes"]], "a threshold that is given wins"
    with pytest.raises(UserError, match="other options"):
        scored(tmp_path, "calibrated", judge_level="decision")
