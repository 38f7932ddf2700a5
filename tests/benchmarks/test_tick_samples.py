"""Several answers to every instruction in `tick`: pass rates, pairs and all-met worked out by hand, through the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.runs import command_here, script, write_jsonl

# By instruction and model, answer by answer: whether each of its two questions is met. "?": the judge cannot tell.
TABLE = {
    "alfa": {"A": ["yy", "yn"], "B": ["yn", "yn"]},  # 3/4 and 1/2: a win of A
    "bravo": {"A": ["nn", "yn"], "B": ["yy", "ny"]},  # 1/4 and 3/4: a loss
    "carl": {"A": ["yy", "y?"], "B": ["yy", "yy"]},  # 1 (of what is decided) and 1: a tie
}


def flags(folder: Path, samples: int) -> list[str]:
    """A command whose judge knows every answer by its name, `A alfa 1`."""
    data = write_jsonl(
        folder / "data.jsonl", [{"id": w, "prompt": f"Say {w}.", "criteria": ["first", "second"]} for w in TABLE]
    )
    rules = []
    for word, models in TABLE.items():
        for model, answers in models.items():
            for number, letters in enumerate(answers, 1):
                for question, letter in zip(("first", "second"), letters, strict=True):
                    said = (
                        {"verdicts": {"": "PASS" if letter == "y" else "FAIL"}} if letter != "?" else {"error": "deaf"}
                    )
                    rules.append({"contains": [f"\n1. {question}", f"{model} {word} {number}"], **said})
    specs = []
    for model in "AB":
        said_ = [{"contains": w, "reply": f"{model} {w} {samples}"} for w in TABLE]  # the next one each session
        specs += ["--model", script(folder / f"{model}.json", said_)]
    return [
        "tick", "--data", data, *specs, "--judge", script(folder / "judge.json", rules), "--out", str(folder / "out"),
        "--samples", str(samples), "--temperature", "1", "--model-arg", f"record={folder / 'asked'}",
    ]  # fmt: skip


def test_models_are_compared_by_instruction(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    done = command_here(capsys, *flags(tmp_path, 1))
    assert done.returncode == 0, done.stderr
    assert "Repeated" not in done.stdout
    done = command_here(capsys, *flags(tmp_path, 2))
    assert done.returncode == 3, "one response has an open question"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) == 12, "the first answers are not asked for again"
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    a, b = ({name: (row[name]["value"], row[name]["n"], row[name]["unscored"]) for name in ("pass_rate", "all_met")}
            for row in scores["scores"])  # fmt: skip
    assert a["pass_rate"] == (pytest.approx((3 / 4 + 1 / 4 + 1) / 3), 3, 0)
    assert b["pass_rate"] == (0.75, 3, 0)
    assert a["all_met"] == (0.5, 3, 0), "1/2, 0, and 1 of 1"
    (pair,) = scores["pairs"]
    assert [round(pair[name]["value"], 3) for name in ("win", "tie", "loss")] == [0.333, 0.333, 0.333]
    assert (pair["win"]["n"], pair["difference"]["n"]) == (3, 3), "instructions, not answers"
    repeated = [
        (row["name"], row["score"]["value"], row["score"]["n"], row["score"]["unscored"])
        for row in scores["repeated_samples"]
    ]
    assert repeated[:3] == [("mean", 0.5, 3, 0), ("any_of_2", pytest.approx(2 / 3), 3, 0), ("all_of_2", 0.0, 2, 1)]
    assert repeated[4][:2] == ("any_of_2", pytest.approx(2 / 3))
    (open_,) = scores["unscored"]
    assert open_["id"] == "carl (sample 2)"
    rows = [json.loads(line) for line in (tmp_path / "out" / "verdicts.jsonl").read_text().splitlines()]
    assert [(row["id"], row["sample"]) for row in rows[:4]] == [("alfa", 1), ("alfa", 2)] * 2
    assert "sample 2" in (tmp_path / "out" / "report.html").read_text()
    board = json.loads((tmp_path / "out" / "run.json").read_text())["board"]["rows"]
    assert [(row["scores"]["pass_rate"]["n"], row["facts"]["Samples"]) for row in board] == [(3, "2"), (3, "2")]
