"""`truebench study calibrate` and `contrast`: figures by hand, every status of an attempt, and what is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.runs import held, row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.calibration import CalibrateOptions, calibrate
from truebench_hf.benchmarks.rubric_eval.contrast import ContrastOptions, contrast
from truebench_hf.benchmarks.truebench.data import RunOptions
from truebench_hf.data.rubrics import RUBRIC_TYPES
from truebench_hf.errors import UserError
from truebench_hf.loaders.export import export
from truebench_hf.prompts import Prompts, read_between, sections

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


@pytest.mark.parametrize("kind", ["temperature", "platt", "isotonic"])
def test_figures_by_hand(tmp_path: Path, kind: str) -> None:
    study = calibrate(options(tmp_path, kind=kind))
    # 8 x 0.1^2 + 2 x 0.9^2 + 2 x 0.3^2 + 8 x 0.7^2 = 5.8 over 20 rows; bins are off by 0.1 and 0.5.
    assert study.before.brier == pytest.approx(0.29)
    assert study.before.ece == pytest.approx(0.3)
    assert study.agreement["as given, threshold 0.5"].value == pytest.approx(0.5), "it says yes to everything"
    assert study.agreement["calibrated, fitted threshold"].value == pytest.approx(0.8), (
        "the threshold lies between the two"
    )
    assert study.calibrated.calibrator.kind == kind
    low, high = (study.calibrated.calibrator.apply(p) for p in (0.7, 0.9))
    assert low <= study.calibrated.threshold <= high
    if kind != "temperature":  # which cannot move 0.7 to the other side of a half
        assert study.agreement["calibrated, threshold 0.5"].value == pytest.approx(0.8)
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
    lines = held(folder / "judgments.jsonl")
    labels = [[verdict["label"] for turn in line["verdicts"] for verdict in turn] for line in lines]
    return labels, held(folder / "run.json")["settings"]


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


# Contrast pairs; every status of an attempt stands in tests/golden

MENTIONS = "mentions alfa"


def pairs(folder: Path, rewritten: dict[str, str], **more: Any) -> ContrastOptions:
    """Responses that mention alfa, and what the writer makes of each; the judge sees a word by the blank behind it."""
    rows = [
        {
            "id": f"{place}-c0", "instruction_id": f"i{place}", "response_id": f"r{place}", "response_model": "m",
            "instruction_category": "constrained", "source_benchmark": "hand-made", "language": "EN",
            "messages": [{"role": "user", "content": "Say something."}],
            "response": response, "checklist": [MENTIONS], "rubric_index": 0, "rubric": MENTIONS, "label": "yes",
            "rubric_type": "content_inclusion", "context": "On words.", "reference": "Alfa.", "split": "hard",
        }
        for place, response in enumerate(rewritten)
    ]  # fmt: skip
    rules: list[dict[str, Any]] = []
    for item in data.items(rows):
        tag = sections(item.case)["tag"]
        rules.append({"contains": f"<response_{tag}>", "reply": rewritten[item.case.response].replace("TAG", tag)})
    judge = [
        {"contains": ["1. mentions", " alfa "], "reply": '```json\n{"criteria_1": "PASS"}\n```'},
        {"contains": "1. mentions", "reply": '```json\n{"criteria_1": "FAIL"}\n```'},
    ]
    given = {"data": write_jsonl(folder / "data.jsonl", rows), "out": str(folder / "out"), "max_edit": 0.7}
    given |= {"writer": script(folder / "writer.json", rules), "judge": script(folder / "judge.json", judge)}
    return ContrastOptions(**given | more)


def test_pairs_build_and_keep_their_context(tmp_path: Path) -> None:
    """The writer and whoever reads the pairs are shown what the judge is shown; an answer without tags is asked for again."""
    rewritten = {
        "one alfa bravo .": "Sure.\n<rewritten_TAG>\none bravo .\n</rewritten_TAG>",
        "two alfa bravo .": "Sure!",
    }
    options = pairs(tmp_path, rewritten, writer_arg=(f"record={tmp_path / 'seen.jsonl'}",))
    contrast(options)
    seen = (tmp_path / "seen.jsonl").read_text()
    assert (len(seen.splitlines()), "On words." in seen) == (1 + 3, True)
    (rejected,) = held(tmp_path / "out" / "rejected.jsonl")
    assert (rejected["id"], rejected["status"]) == ("1-c0", "writer_failed")
    contrast(options)
    assert len((tmp_path / "seen.jsonl").read_text().splitlines()) == 4, "what was answered is not asked for again"
    with pytest.raises(UserError, match="max_edit"):
        contrast(pairs(tmp_path, rewritten, max_edit=0.5))
    source = str(tmp_path / "out" / "pairs.jsonl")
    assert {
        (item.case.context, item.case.reference, item.rubrics[0].split) for item in data.items(data.load(source))
    } == {("On words.", "Alfa.", "test")}
    assert export("rubric_eval", tmp_path / "built", source=source).facts.rows["all"] == {"test": 2}
    again = data.items(data.load(str(tmp_path / "built")))
    assert {item.case.response: item.case for item in again} == {
        item.case.response: item.case for item in data.items(data.load(source))
    }


def test_the_prompt_goes_by_the_rubric_type_and_direction() -> None:
    (item, *_) = data.items(rows())
    values = {**sections(item.case), "rubric": "r", "definition": "d", "others": []}

    def shown(kind: str, breaking: bool) -> str:
        return Prompts().render("contrast", **values, kind=kind, breaking=breaking)

    prompts = {shown(kind, breaking) for kind in (*RUBRIC_TYPES, "") for breaking in (True, False)}
    assert len(prompts) == 2 * (len(RUBRIC_TYPES) + 1), "every type has its own way, both ways"
    assert "clearly does not meet it any more" in shown("style_tone", True)
    assert "meets it in full" in shown("style_tone", False)


@each_row(__file__, "contrast", "rewrites")
def test_read_rewrite(text: str, expected: str | None) -> None:
    assert read_between(text, "rewritten_t") == expected
