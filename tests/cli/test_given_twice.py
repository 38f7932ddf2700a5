"""An option given twice: joined, several, or refused, but never the last one alone."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import command_here, script, write_jsonl
from truebench_hf.errors import UserError

TWICE = [
    ("run --limit 1 --limit 1", "--limit is given 2 times; give it once"),  # alike is twice, too
    ("run --reasoning --no-reasoning", "--reasoning/--no-reasoning is given 2 times; give it once"),
    (
        "run --data=d --model=smollm2 --model-arg=dtype=a --model-arg=dtype=b --judge=smollm2 --out=o",
        "--model-arg dtype: is given 2 times (a, b); give it once",
    ),
]


@pytest.mark.parametrize(("line", "message"), TWICE)
def test_what_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "d", [])
    done = command_here(capsys, *line.split())
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"truebench: {message}\n")


def written(path: Path, header: list[str], *rows: list[str]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def judged(out: Path) -> list[list[str]]:
    """The criteria of every line of `judgments.jsonl`, over all turns."""
    lines = map(json.loads, (out / "judgments.jsonl").read_text(encoding="utf-8").splitlines())
    return [[verdict["criterion"] for turn in line["verdicts"] for verdict in turn] for line in lines]


@pytest.fixture
def roles(tmp_path: Path) -> list[str]:
    model = script(tmp_path / "model.json", [{"contains": "", "reply": "Monday"}])
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    return ["--model", model, "--judge", judge]


def test_several_columns_of_criteria_are_joined(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, roles: list[str]
) -> None:
    data = written(
        tmp_path / "d.csv", ["Question", "Criterion 1", "Criterion 2"],
        ["Which day?", "names the day", "- is polite\n- is short"], ["Which month?", "", '["names the month"]'],
        ["Which year?", "names the year", ""],
    )  # fmt: skip
    columns = [f"--column={pair}" for pair in ("prompt=Question", "criteria=Criterion 1", "criteria=Criterion 2")]
    done = command_here(capsys, "run", "--data", data, *columns, *roles, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    wanted = [["names the day", "is polite", "is short"], ["names the month"], ["names the year"]]
    assert judged(tmp_path / "out") == wanted, "of both columns, in their order; a blank cell has none"
    report = truebench_hf.run(
        data=data, column={"prompt": "Question", "criteria": ["Criterion 1", "Criterion 2"]}, model=roles[1],
        judge=roles[3],
    )  # fmt: skip
    assert [[v.criterion.text for v in item.verdicts[0]] for item in report.judged] == wanted
    for more, message in (
        ("prompt=Answer", "--column prompt: is given 2 times (Question, Answer)"),
        ("criteria=Criterion 1", "--column criteria=Criterion 1: is given twice"),
        ("criteria=Third", "no row has a column 'Third'"),
    ):
        refused = command_here(capsys, "run", f"--data={data}", *columns, f"--column={more}", *roles, "--out=o")
        assert (refused.returncode, message in refused.stderr) == (2, True), refused.stderr


def test_columns_of_several_turns_are_joined_turn_by_turn(tmp_path: Path, roles: list[str]) -> None:
    turns = {"turns": [{"prompt": "a"}, {"prompt": "b"}]}
    rows: list[dict[str, Any]] = [turns | {"c": [["1"], ["2"]], "d": [["3"], []]}]
    joined = {"criteria": ["c", "d"]}
    report = truebench_hf.run(data=rows, column=joined, model=roles[1], judge=roles[3])
    assert [[v.criterion.text for v in turn] for turn in report.judged[0].verdicts] == [["1", "3"], ["2"]]
    with pytest.raises(UserError, match="field 'd' must be a list of lists of texts, one list for each of the 2 turns"):
        truebench_hf.run(data=[rows[0] | {"d": ["3"]}], column=joined, model=roles[1], judge=roles[3])


def test_what_was_read_is_told_before_anything_is_asked(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, roles: list[str]
) -> None:
    data = written(
        tmp_path / "d.csv", ["prompt", "criteria"], ["Which day?", "names the day; is polite"],
        ["Which month?", "a; b\nc"], ["Which year?", "names it;"], ["Which hour?", '["x; y"]'],
    )  # fmt: skip
    line = '4 prompts, 5 criteria; the first: "Which day?", judged by "names the day; is polite"\n'
    note = "cells of criteria with ';' and no line break: 1 (the first: "  # the others are lines, one, and JSON
    common = ["run", "--data", data, *roles]
    estimate = command_here(capsys, *common, "--out", str(tmp_path / "out"), "--estimate")
    assert estimate.stdout.startswith(line)
    assert not (tmp_path / "out").exists()
    broken = [*roles[:2], "--judge", script(tmp_path / "broken.json", [{"contains": "", "error": "down"}])]
    for name, judge, code in (("down", broken, 3), ("up", roles, 0)):
        done = command_here(capsys, "run", "--data", data, *judge, "--out", str(tmp_path / name))
        assert (done.returncode, done.stdout.startswith(line)) == (code, True), done.stderr
        assert note in done.stderr
        assert "--criteria-separator ';'" in done.stderr

    split = command_here(capsys, *common, "--criteria-separator", ";", "--out", str(tmp_path / "split"))
    assert split.stdout.startswith('4 prompts, 7 criteria; the first: "Which day?", judged by "names the day"\n')
    assert split.stderr == ""
    assert judged(tmp_path / "split") == [["names the day", "is polite"], ["a", "b", "c"], ["names it"], ["x; y"]]

    answers = write_jsonl(
        tmp_path / "a.jsonl",
        [{"prompt": f"Which {asked}?", "response": "Monday"} for asked in ("day", "month", "year", "hour")],
    )
    given = ["judge", "--data", data, "--responses", answers, "--model-name", "me", *roles[2:]]
    done = command_here(capsys, *given, "--criteria-separator=;", "--out", str(tmp_path / "given"))
    assert (done.returncode, done.stdout.startswith("4 prompts, 7 criteria")) == (0, True), done.stderr
