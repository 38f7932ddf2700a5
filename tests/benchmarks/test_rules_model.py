"""`run --rules-model`: a model reads rules out of criteria that have none, once each, and what it finds is checked and counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.runs import Done, command_here, script, write_jsonl
from truebench_hf.data import jsonl

KIND = "It is kind to readers in exactly two words."  # of which no phrase knows all words
CALM = "It pleases the ear in exactly two words."  # likewise
ROWS = [
    {"id": "a", "prompt": "Name a river.", "criteria": [KIND, "It names a river.", "At most 9 words."]},
    {"id": "b", "prompt": "Name a lake.", "criteria": [KIND]},
    {
        "id": "c",
        "prompt": "Name a pond.",
        "criteria": [{"text": CALM, "rule": {"kind": "count", "unit": "words", "min": 2, "max": 2}}],
    },
]
ANSWERS = [{"contains": word, "reply": f"Great {word.title()}"} for word in ("river", "lake", "pond")]


def said(*rules: dict[str, Any], complete: bool = False) -> str:
    return f"I looked.\n```json\n{json.dumps({'rules': rules, 'complete': complete})}\n```"


TWO = {"kind": "count", "unit": "words", "min": 2, "max": 2}


class Bench:
    """Data, a model, a judge that passes everything, and a reader of rules; both write down what they are asked."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.data, self.model = write_jsonl(folder / "data.jsonl", ROWS), script(folder / "model.json", ANSWERS)
        self.judge = script(folder / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
        self.reader = script(
            folder / "reader.json",
            [
                {"contains": "names a river", "reply": said()},
                {"contains": "kind to readers", "reply": said(TWO, complete=True)},
            ],
        )

    def run(self, *more: str) -> Done:
        arguments = ("--judge-arg", f"record={self.folder / 'judge.asked'}")
        arguments += ("--rules-model-arg", f"record={self.folder / 'reader.asked'}", "--out", str(self.folder / "out"))
        roles = ("--model", self.model, "--judge", self.judge, "--rules-model", self.reader)
        return command_here(self.capsys, "run", "--data", self.data, *roles, *arguments, *more)

    def asked(self, name: str) -> list[str]:
        file = self.folder / f"{name}.asked"
        return file.read_text().splitlines() if file.exists() else []


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def test_a_criterion_is_read_once_and_its_figures_stand_beside_it(bench: Bench) -> None:
    done = bench.run()
    assert done.returncode == 0, done.stderr
    # Of four different criteria one has a rule, one is read by phrases; the first stands in two instances.
    assert len(bench.asked("reader")) == 2
    assert "1 of 2 criteria that had none" in done.stdout.replace("\n", " ")
    assert "1 of 2 criteria that had none" in (bench.folder / "out" / "report.html").read_text()
    judged = "\n".join(bench.asked("judge"))
    assert judged.count("exactly two words. (measured_") == 2  # it says more than its rule, so that a judge decides
    rows = [row for _, row in jsonl.read(bench.folder / "out" / "judgments.jsonl")]
    assert [row["passed"] for row in rows] == [True] * 3
    assert rows[0]["verdicts"][0][0]["criterion"] == KIND
    settings = json.loads((bench.folder / "out" / "run.json").read_text())["settings"]
    assert settings["judging"]["rules_model"] == bench.reader
    assert "find_rules" in settings["prompts"]
    again = bench.run()
    assert (again.returncode, len(bench.asked("reader"))) == (0, 2), "the same command asks nothing again"
    assert "1 of 2 criteria that had none" in again.stdout.replace("\n", " ")


def test_what_the_criterion_does_not_say_is_no_rule(bench: Bench) -> None:
    bench.reader = script(
        bench.folder / "reader.json", [{"contains": "", "reply": said({"kind": "count", "unit": "words", "max": 77})}]
    )
    done = bench.run()
    assert done.returncode == 0, done.stderr
    assert "0 of 2 criteria that had none (2 without a usable answer)" in done.stdout.replace("\n", " ")
    assert not any("(measured_" in text for text in bench.asked("judge"))


def test_without_rules_there_is_nothing_to_read_them_for(bench: Bench) -> None:
    done = bench.run("--rules", "off")
    assert (done.returncode, bench.asked("reader")) == (2, [])
    assert "with --rules off no rule is used" in done.stderr
