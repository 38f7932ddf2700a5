"""`--judge none`: what can be counted is decided, the rest is open and counted, and no model is asked to judge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.runs import Done, command_here, script, write_jsonl
from truebench_hf.data import jsonl
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage_file
from truebench_hf.hub.submission import validate

OPEN = "no judge: only what can be counted is decided"
SHORT = {"text": "At most three words.", "rule": {"kind": "count", "unit": "words", "max": 3}}
ROWS = [
    {"id": "a", "prompt": "Name a river.", "criteria": ["names a river", SHORT]},  # four words: one no settles it
    {"id": "b", "prompt": "Name a lake.", "criteria": [SHORT]},  # one word
    {"id": "c", "prompt": "Name a pond.", "criteria": ["names a pond"]},  # nothing to count: open
]
ANSWERS = [
    {"contains": "river", "reply": "The great river Rhine."}, {"contains": "lake", "reply": "Garda."},
    {"contains": "pond", "reply": "The pond."},
]  # fmt: skip
PASSED = [False, True, None]


class Bench:
    """The commands on these rows, each into the folder `out`."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys, self.out = folder, capsys, "out"
        self.data, self.model = write_jsonl(folder / "data.jsonl", ROWS), script(folder / "model.json", ANSWERS)

    def do(self, name: str, *more: str, judge: str = "none") -> Done:
        named = ("--judge", judge) if judge else ()
        return command_here(self.capsys, name, *named, "--out", str(self.folder / self.out), *more)

    def run(self, *more: str, judge: str = "none") -> Done:
        return self.do("run", "--data", self.data, "--model", self.model, *more, judge=judge)

    def lines(self) -> list[dict[str, Any]]:
        return [row for _, row in jsonl.read(self.folder / self.out / "judgments.jsonl")]

    def info(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.folder / self.out / "run.json").read_text())
        return content


@pytest.fixture
def bench(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Bench:
    return Bench(tmp_path, capsys)


def check(bench: Bench, done: Done) -> None:
    assert done.returncode == 0, done.stderr
    assert [line["passed"] for line in bench.lines()] == PASSED
    reasons = [verdict["reason"] for line in bench.lines() for verdict in line["verdicts"][0]]
    assert reasons == [OPEN, "measured: 4 words", "measured: 1 word", OPEN]
    assert "No judge: 2 of 4 criteria decided by counting, 2 left open." in done.stdout
    assert set(bench.info()["usage"]["total"]) <= {"model"}, "nobody was asked to judge"


def test_runs_and_answers_that_are_there_are_decided_by_what_can_be_counted(bench: Bench) -> None:
    check(bench, bench.run())
    rows = [{"id": row["id"], "response": answer["reply"]} for row, answer in zip(ROWS, ANSWERS, strict=True)]
    answers, bench.out = write_jsonl(bench.folder / "answers.jsonl", rows), "answered"
    check(bench, bench.do("judge", "--data", bench.data, "--responses", answers, "--model-name", "m"))
    score = command_here(bench.capsys, "study", "score", str(bench.folder / "answered"))
    assert (score.returncode, "No judge: 2 of 4" in score.stdout) == (0, True)
    # An answer that failed is not what was expected to be open.
    bench.model = script(bench.folder / "model.json", [{"contains": "pond", "error": "out of reach"}, *ANSWERS])
    bench.out = "failed"
    assert bench.run().returncode == 3
    assert command_here(bench.capsys, "study", "score", str(bench.folder / "failed")).returncode == 3
    assert bench.run("--allow-unscored").returncode == 0


def test_it_is_never_ranked_with_a_judged_run_and_can_be_published(bench: Bench, tmp_path: Path) -> None:
    assert bench.run().returncode == 0
    rows = [bench.info()["board"]["rows"][0]]
    staged = stage_file(validate(bench.folder / "out" / "judgments.jsonl"), tmp_path / "staged")
    assert "none" in staged.rows[0]["judge"]
    page = (bench.folder / "out" / "report.html").read_text()
    assert "no judge: what can be counted is decided" in page
    bench.out = "judged"
    judge = script(bench.folder / "judge.json", [{"contains": "<criteria", "verdicts": {}}])
    assert bench.run("--judge", judge, judge="").returncode == 0
    rows.append(bench.info()["board"]["rows"][0])
    assert rows[0]["facts"]["Judge"] == "none (rules decide)"
    assert rows[0]["setting"] != rows[1]["setting"]
    shown = command_here(bench.capsys, "compare", *(str(bench.folder / out) for out in ("out", "judged")))
    assert (shown.returncode, "Not comparable as models: judge: none and scripted:" in shown.stdout) == (0, True)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--rules", "off"), "--judge none: what can be counted"),
        (("--judge", "smollm2"), "--judge none: what can be counted"),
        (("--protocol", "official"), "its judge decides every criterion"),
        (("--judge-arg", "record=x"), "are about --judge; name one"),
    ],
)
def test_what_asks_for_a_judge_beside_it_is_refused(bench: Bench, more: tuple[str, ...], said: str) -> None:
    done = bench.run(*more)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    done = bench.do("tick", "--data", bench.data, "--model", bench.model)
    assert (done.returncode, "unknown spec 'none'" in done.stderr) == (2, True), "another command wants its judge"


def test_run_in_python(bench: Bench) -> None:
    report = truebench_hf.run(data=bench.data, model=bench.model, judge="none")
    assert report.unscored == {"c": OPEN}
    assert [item.passed for item in report.judged] == PASSED


@pytest.mark.parametrize("nobody", [None, "none"])
def test_judge_in_python(nobody: str | None) -> None:
    met = truebench_hf.judge("Name a lake.", "Garda.", [SHORT, "names a lake"], nobody)
    assert [(verdict.label, verdict.judge) for verdict in met] == [("yes", "rules"), (None, "none")]
    assert (met.passed, met.undecided) == (None, OPEN)
    many = truebench_hf.judge("Name a lake.", ["Garda.", "It is the Garda lake."], SHORT, nobody)
    assert [one.passed for one in many] == [True, False]
    with pytest.raises(UserError, match="with rules='off' nothing would be decided"):
        truebench_hf.judge("Name a lake.", "Garda.", [SHORT], nobody, rules=False)


def test_judge_and_run_decide_alike() -> None:
    """What a program can count is not asked in either: two words are more than one, whatever the judge says."""
    asked = []

    def judge(messages: Any) -> str:
        asked.append(messages)
        return '{"criteria_1": "PASS"}'

    criterion = {"text": "Is at most 1 word.", "rule": {"kind": "count", "unit": "words", "max": 1}}
    assert truebench_hf.judge("Greet.", "Good morning", [criterion], judge).passed is False
    rows = [{"id": "a", "prompt": "Greet.", "criteria": [criterion]}]
    report = truebench_hf.run(data=rows, responses=["Good morning"], judge=judge)
    assert [item.passed for item in report.judged] == [False]
    assert asked == []
