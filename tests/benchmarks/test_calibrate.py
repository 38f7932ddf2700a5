"""`truebench study calibrate` and `contrast`: figures by hand, every status of an attempt, and what is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.corpus import each_row, table
from tests.support.runs import row, script, write_jsonl
from tests.support.stages import run
from truebench_hf.benchmarks.rubric_eval import data
from truebench_hf.benchmarks.rubric_eval.calibration import CalibrateOptions, Fit, calibrate
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


# Contrast pairs

FINE = "You check one requirement"
TABLE: dict[str, tuple[str, str, str | None, str]] = table(__file__, "contrast")["attempts"]


def _rows(**more: Any) -> list[dict[str, Any]]:
    return [
        {
            "id": f"{name}-c0", "instruction_id": name, "response_id": name, "response_model": "m",
            "instruction_category": "constrained", "source_benchmark": "hand-made", "language": "EN",
            "messages": [{"role": "user", "content": "Say something."}], "response": response,
            "checklist": ["mentions alfa", "mentions bravo"], "rubric_index": 0, "rubric": "mentions alfa",
            "rubric_type": "content_inclusion", "label": label, "label_source": "human",
        }
        | more
        for name, (label, response, _, _) in TABLE.items()
    ]  # fmt: skip


def _judge_rules() -> list[dict[str, Any]]:
    rules = []
    for word, noise in (("alfa", "garble"), ("bravo", "blur")):
        asked = [FINE, f"\n1. mentions {word}\n"]
        rules += [
            {"contains": [*asked, f"{noise} "], "reply": "hard to say"},
            {"contains": [*asked, f" {word} "], "reply": f'1. I see {word}.\n```json\n{{"criteria_1": "PASS"}}\n```'},
            {"contains": asked, "reply": f'1. No {word} here.\n```json\n{{"criteria_1": "FAIL"}}\n```'},
        ]
    return rules


def _writer_rules(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = []
    for item in data.items(rows):
        tag, made = sections(item.case)["tag"], TABLE[item.id][2]
        reply = {"ERROR": {"error": "out of paper"}, "NO TAGS": {"reply": "Sure, here you are!"}}.get(
            made or "", {"reply": f"Sure.\n<rewritten_{tag}>\n{made}\n</rewritten_{tag}>"}
        )
        rules.append({"contains": f"<response_{tag}>"} | reply)
    return rules


def _options(folder: Path, rows: list[dict[str, Any]] | None = None, **more: Any) -> ContrastOptions:
    rows = rows or _rows()
    for name, rules in (("judge", _judge_rules()), ("writer", _writer_rules(rows))):
        (folder / f"{name}.json").write_text(json.dumps({"rules": rules, "default": {"reply": "?"}}))
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = {name: f"scripted:{folder / name}.json" for name in ("judge", "writer")}
    given |= {"data": str(folder / "data.jsonl"), "out": str(folder / "out")}
    return ContrastOptions(**(given | {"max_edit": 0.7} | more))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_status_equals_the_table(tmp_path: Path) -> None:
    result = contrast(_options(tmp_path))
    rejected = {row["id"].removesuffix("-c0"): row["status"] for row in _lines(tmp_path / "out" / "rejected.jsonl")}
    assert rejected == {name: row[3] for name, row in TABLE.items() if row[3] != "kept"}
    counts = {row["status"]: row["n"] for row in result["attempts"].rows}
    assert (sum(counts.values()), counts["kept"], counts["writer_failed"]) == (12, 2, 2)
    assert [tuple(row[name] for name in ("group", "attempts", "kept", "paper")) for row in result["pairs"].rows] == [
        ("right_to_wrong", 10, 1, 120), ("wrong_to_right", 2, 1, 133), ("content_inclusion", 12, 2, None), ("all", 12, 2, 253),
    ]  # fmt: skip


def test_pairs_build_and_keep_their_context(tmp_path: Path) -> None:
    """The writer and whoever reads the pairs are shown what the judge is shown."""
    seen = (f"record={tmp_path / 'seen.jsonl'}",)
    contrast(_options(tmp_path, _rows(context="On words.", reference="Alfa.", split="hard"), writer_arg=seen))
    assert "On words." in (tmp_path / "seen.jsonl").read_text()
    source = str(tmp_path / "out" / "pairs.jsonl")
    assert {
        (item.case.context, item.case.reference, item.rubrics[0].split) for item in data.items(data.load(source))
    } == {("On words.", "Alfa.", "test")}
    assert export("rubric_eval", tmp_path / "built", source=source).facts.rows["all"] == {"test": 4}
    again = data.items(data.load(str(tmp_path / "built")))
    assert [item.case for item in again] == [item.case for item in data.items(data.load(source))]


def test_nobody_is_asked_once_a_pair_is_in_doubt(tmp_path: Path) -> None:
    seen = tmp_path / "seen.jsonl"
    options = _options(tmp_path, writer_arg=(f"record={seen}",))
    contrast(options)
    prompts = [line[-1] for line in map(json.loads, seen.read_text().splitlines())]
    assert not any("three garble" in prompt or "four alfa" in prompt for prompt in prompts)
    # Ten attempts reach the writer; the answer without tags is asked for twice more.
    assert len(prompts) == 10 + 2
    spent = json.loads((Path(options.out) / "run.json").read_text())["usage"]["total"]
    assert spent["writer"]["calls"] == 9 + 2, "an error is no call"
    pairs = (tmp_path / "out" / "pairs.jsonl").read_text()
    contrast(options)
    assert len(seen.read_text().splitlines()) == 12 + 1, "a second run asks for the failed answer alone"
    assert (tmp_path / "out" / "pairs.jsonl").read_text() == pairs
    with pytest.raises(UserError, match="max_edit"):
        contrast(_options(tmp_path, max_edit=0.5))


def test_the_prompt_goes_by_the_rubric_type_and_direction() -> None:
    item = data.items(_rows())[0]
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
