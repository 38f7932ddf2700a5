"""`truebench study calibrate`: figures by hand, every call in the ledger, and what other runs make of its file."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import row, script, write_jsonl
from tests.support.stages import run
from tests.support.tables import row_of
from truebench_hf.benchmarks.rubric_eval.calibration import CalibrateOptions, Fit, calibrate
from truebench_hf.benchmarks.truebench.options import JudgeGivenOptions, RunOptions
from truebench_hf.errors import UserError
from truebench_hf.metrics.choosing import frontier
from truebench_hf.results.folder import Results

# Ten instructions with two rubrics each: of those the judge gives 0.9, eight are met, of those with 0.7 only two.
# "alpha" stands in the text of what is met, "beta" in what is not: the reasoning judge sees that, the other does not.
TRUTHS = [(i < 8, i >= 8) for i in range(10)]
SURE = [{"contains": "says 0.9", "probability": 0.9}, {"contains": "says 0.7", "probability": 0.7}]
KNOWS = [{"contains": "<criteria", "verdicts": {"beta": "FAIL"}}]


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


def reasoning(tmp_path: Path) -> str:
    return script(tmp_path / "reasoning.json", KNOWS)


def paying(tmp_path: Path) -> Fit:
    """A calibration whose decision judge is sure of half the rubrics, and rightly so."""
    data = write_jsonl(tmp_path / "paying.jsonl", rows([(True, i < 5) for i in range(10)]))
    return calibrate(options(tmp_path, data=data, cascade_judge=reasoning(tmp_path)))


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


def test_every_call_is_in_the_ledger_and_asked_once(tmp_path: Path) -> None:
    record = tmp_path / "prompts.jsonl"
    chosen = options(tmp_path, judge_arg=(f"record={record}",), cascade_judge=reasoning(tmp_path))
    first = calibrate(chosen)
    asked = record.read_text()
    assert len(asked.splitlines()) == 10, "one request per response, with both its questions"
    with closing(sqlite3.connect(tmp_path / "out" / "ledger.sqlite")) as ledger:
        counts = dict(ledger.execute("SELECT role, COUNT(*) FROM calls GROUP BY role"))
    assert counts == {"judge": 10, "cascade": 20}
    again = calibrate(chosen)
    assert record.read_text() == asked
    assert again.agreement == first.agreement
    assert again.points == first.points


def test_another_kind_in_the_same_folder_asks_nothing_and_other_data_is_refused(tmp_path: Path) -> None:
    record = tmp_path / "prompts.jsonl"
    calibrate(options(tmp_path, judge_arg=(f"record={record}",)))
    asked = record.read_text()
    calibrate(options(tmp_path, judge_arg=(f"record={record}",), kind="isotonic"))
    assert record.read_text() == asked
    other = write_jsonl(tmp_path / "other.jsonl", rows()[:10])
    with pytest.raises(UserError, match="the data changed in"):
        calibrate(options(tmp_path, data=other, judge_arg=(f"record={record}",)))


def test_cascades_by_hand(tmp_path: Path) -> None:
    study = calibrate(options(tmp_path, cascade_judge=reasoning(tmp_path)))
    assert accuracy(study, "reasoning judge") == 1.0
    # Ten calls of the decision judge. Nothing handed on: 0.8. All of 0.7 (10 calls more): the two met ones are found,
    # 0.9. Everything (20 calls more): 1, which the reasoning judge alone has for its 20 calls.
    found = {(point.calls, round(point.balanced_accuracy or 0, 6)) for point in study.points}
    assert {(10, 0.5), (10, 0.8), (20, 0.9), (30, 1.0), (20, 1.0)} <= found
    assert max(accuracy for _, accuracy in found) == 1.0
    edge = frontier(study.points)
    assert (edge[0].calls, edge[0].balanced_accuracy) == (10, pytest.approx(0.8))
    assert (edge[-1].calls, edge[-1].balanced_accuracy) == (20, 1.0)
    assert study.choice == edge[-1]
    assert study.calibrated.band is None
    assert "No cascade pays here: the reasoning judge alone" in study.notes[-1]


def test_a_cascade_that_pays_leaves_its_band(tmp_path: Path) -> None:
    study = paying(tmp_path)
    # 0.9 is always met, and half of 0.7: the doubtful half handed on, 20 of 30 calls, everything is right.
    assert study.choice is not None
    assert (study.choice.calls, study.choice.handed_on, study.choice.balanced_accuracy) == (20, 0.5, 1.0)
    assert study.calibrated.band == (study.choice.low, study.choice.high)
    assert not [note for note in study.notes if "No cascade pays" in note]


def test_of_judges_at_chance_no_cascade_is_recommended(tmp_path: Path) -> None:
    # What is met, what the one judge believes and what the other says: every combination equally often.
    says = [{"contains": f"says {p}", "probability": p} for p in (0.55, 0.45)]
    made = []
    for number in range(32):
        met, sure, passes = bool(number & 1), bool(number & 2), bool(number & 4)
        text = f"says {0.55 if sure else 0.45} {'alpha' if passes else 'beta'} n{number}"
        made.append({**rows()[0], "id": f"i{number}", "instruction_id": f"i{number}", "response_id": f"r{number}"})
        made[-1] |= {"checklist": [text], "rubric": text, "label": "yes" if met else "no"}
    judge, data = script(tmp_path / "chance.json", says), write_jsonl(tmp_path / "chance.jsonl", made)
    study = calibrate(
        CalibrateOptions(data=data, judge=judge, out=str(tmp_path / "out"), cascade_judge=reasoning(tmp_path))
    )
    assert accuracy(study, "reasoning judge") == 0.5
    assert study.calibrated.band is None
    assert study.choice is not None
    assert study.choice.low is None
    assert "No cascade pays here: a threshold alone comes within one point of the best." in study.notes
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "No cascade pays here" in page
    assert json.loads((tmp_path / "out" / "calibration.json").read_text())["band"] is None


def test_what_has_no_probability_is_counted_and_left_out(tmp_path: Path) -> None:
    judge = script(tmp_path / "judge.json", [{"contains": "says 0.7 alpha", "probability": None}, *SURE])
    data = write_jsonl(tmp_path / "data.jsonl", rows())
    study = calibrate(CalibrateOptions(data=data, judge=judge, out=str(tmp_path / "out")))
    assert (study.before.n, study.before.left_out) == (18, 2)
    assert study.agreement["as given, threshold 0.5"].unscored == 2
    assert "2 of 20 rubrics have no probability" in study.notes[0]


def test_the_report_is_self_contained_and_shows_both_curves(tmp_path: Path) -> None:
    calibrate(options(tmp_path, cascade_judge=reasoning(tmp_path)))
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "")
    for text in ("Reliability", "as given", "calibrated", "What a cascade costs", "best for its cost", "0.2900"):
        assert text in page
    assert page.count("<svg") == 1 + 5, "a plot, and a dot for each decision rule"
    assert page.count("<polyline") == 2, "before and after"
    assert "tokens per response" in page
    for name in ("decision judge alone", "reasoning judge alone"):
        assert name in page
    assert "NaN" not in page
    facts = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert facts["probabilities"][0]["ece"] == pytest.approx(0.3)
    assert facts["cascades"][0]["balanced_accuracy"] is not None
    assert len((tmp_path / "out" / "rows.jsonl").read_text().splitlines()) == 20


def test_costs_are_per_response(tmp_path: Path) -> None:
    study = calibrate(options(tmp_path, cascade_judge=reasoning(tmp_path)))
    rows = Results.open(tmp_path / "out").tables["costs"].rows
    by_way = {name: [row["cost"] for row in rows if row["way"] == name] for name in {row["way"] for row in rows}}
    facts = json.loads((tmp_path / "out" / "run.json").read_text())["usage"]["total"]
    spent = {role: (used["input_tokens"] + used["output_tokens"]) / 10 for role, used in facts.items()}
    assert by_way["decision judge alone"] == [pytest.approx(spent["judge"])]
    assert by_way["reasoning judge alone"] == [pytest.approx(spent["cascade"])]
    dearest = max(point.cost / 10 for point in study.points)
    assert dearest == pytest.approx(sum(spent.values())), "everything handed on costs what both judges do"


@pytest.mark.parametrize(
    ("change", "shown"),
    [
        (lambda r: r | {"label": None}, "no row has a label"),  # nothing to fit on
        (lambda r: r | {"label": "yes"}, "some that are not"),  # one class tells nothing
        (lambda r: r | {"instruction_id": "same"}, "several instructions"),  # nothing unseen to measure on
    ],
)
def test_data_that_cannot_be_calibrated_on_is_refused(tmp_path: Path, change: Any, shown: str) -> None:
    data = write_jsonl(tmp_path / "bad.jsonl", [change(r) for r in rows()])
    with pytest.raises(UserError, match=shown):
        calibrate(options(tmp_path, data=data))


@pytest.mark.parametrize(
    ("more", "shown"), [({"kind": "plat"}, "did you mean platt"), ({"folds": 1}, "--folds 1: must be at least 2")]
)
def test_options_are_checked(tmp_path: Path, more: dict[str, Any], shown: str) -> None:
    with pytest.raises(UserError, match=shown):
        options(tmp_path, **more)


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


def test_a_run_cascades_with_the_band_of_the_calibration(tmp_path: Path) -> None:
    study = paying(tmp_path)
    labels, settings = scored(
        tmp_path, "cascade", judge_level="cascade", cascade_judge=reasoning(tmp_path),
        calibration=str(tmp_path / "out"),
    )  # fmt: skip
    assert labels == [["yes", "no"], ["yes"]]
    assert tuple(settings["judging"]["band"]) == study.calibrated.band
    assert settings["cascade_judge"] == reasoning(tmp_path)
    assert set(settings["prompts"]) == {"decision", "decision_question", "rubric", "repair"}
    usage = json.loads((tmp_path / "cascade" / "run.json").read_text())["usage"]["total"]
    assert set(usage) == {"model", "judge", "cascade"}


def test_the_figure_of_what_is_chosen_is_that_of_unseen_instructions(tmp_path: Path) -> None:
    study = paying(tmp_path)
    assert study.choice is not None
    assert study.worth is not None
    assert study.choice.balanced_accuracy == pytest.approx(study.worth.value)
    scores = Results.open(tmp_path / "out").tables
    chosen = row_of(scores["costs"], way="chosen, on unseen instructions")
    assert chosen["balanced_accuracy"] == study.choice.balanced_accuracy
    worth = row_of(scores["decisions"], rule="chosen from the cascades, undecided = wrong")
    assert worth["balanced_accuracy"] == study.worth
    assert any("nested folds" in note for note in study.notes)
    page = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "chosen, on unseen instructions" in page
    assert "chosen from the cascades, undecided = wrong" in page


def test_a_calibration_that_is_not_there_is_refused() -> None:
    with pytest.raises(UserError, match="truebench study calibrate"):  # no such file
        _ = JudgeGivenOptions(out="o", judge=("scripted:a",), judge_level="decision", calibration="x").settings
