"""Who judges a run: a panel, or one judge with the options of its levels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.corpus import each_row, options_of
from tests.support.runs import Done, command_here, row, script, write_jsonl
from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions
from truebench_hf.data import jsonl
from truebench_hf.data.records import Reader
from truebench_hf.errors import UserError
from truebench_hf.hub.staging import stage_file
from truebench_hf.hub.submission import validate
from truebench_hf.results.report import Report
from truebench_hf.types import Score

CRITERIA = ["is a river", "is in Europe", "is short"]


def judge(path: Path, *failed: str) -> str:
    return script(path, [{"contains": "<criteria", "verdicts": dict.fromkeys(failed, "FAIL")}])


def run(folder: Path, judges: list[str], **more: Any) -> Report:
    options = {
        "data": write_jsonl(folder / "data.jsonl", [row(1, [("Name a river.", CRITERIA)])]),
        "model": script(folder / "answers.json", [{"contains": "river", "reply": "The Nile."}]),
        "out": str(folder / "out"), "judge": judges, "panel": "majority",
    }  # fmt: skip
    return truebench_hf.run(**options | more)


def verdicts(folder: Path) -> list[dict[str, Any]]:
    (line,) = (folder / "out" / "judgments.jsonl").read_text(encoding="utf-8").splitlines()
    found = json.loads(line)
    Reader().judged(found, "line 1")
    turn: list[dict[str, Any]] = found["verdicts"][0]
    return turn


def value(report: Report, name: str) -> float | None:
    score = report.scores[name]
    assert isinstance(score, Score)
    return score.value


def three(folder: Path) -> list[str]:
    return [judge(folder / "a.json", "Europe"), judge(folder / "b.json", "Europe", "short"), judge(folder / "c.json")]


def test_a_panel_judges_a_run(tmp_path: Path) -> None:
    judges = three(tmp_path)
    report = run(tmp_path, judges)
    assert [verdict["label"] for verdict in verdicts(tmp_path)] == ["yes", "no", "yes"]
    assert [verdict["votes"] for verdict in verdicts(tmp_path)] == [
        ["yes", "yes", "yes"], ["no", "no", "yes"], ["yes", "no", "yes"]
    ]  # fmt: skip
    assert value(report, "overall") == 0
    assert value(report, "flip_rate") == pytest.approx(2 / 3)
    assert value(report, "vote_share") == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    assert report.provenance["judge"] == f"{' + '.join(judges)} (majority)"
    assert {role: spent["calls"] for role, spent in report.usage["total"].items()} == {
        "model": 1, "judge": 1, "judge 2": 1, "judge 3": 1
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "labels", "reason"),
    [
        ({"panel": "unanimous"}, ["yes", None, None], "only the first is agreed on"),
        ({"panel": "weighted:1,1,3"}, ["yes", "yes", "yes"], "the third outweighs the others"),
    ],
)
def test_other_rules(tmp_path: Path, more: dict[str, Any], labels: list[str | None], reason: str) -> None:
    run(tmp_path, three(tmp_path), **more)
    assert [verdict["label"] for verdict in verdicts(tmp_path)] == labels, reason


def test_every_judge_counts_for_the_self_judged_mark(tmp_path: Path) -> None:
    judges = [*three(tmp_path), judge(tmp_path / "qwen3.json")]
    assert run(tmp_path, judges).provenance["self_judged"] is False
    other = run(tmp_path, judges, out=str(tmp_path / "two"), model=judge(tmp_path / "qwen2.json"))
    assert other.provenance["self_judged"] is True, "the fourth judge is of the model's family"


# One judge at its levels: what a level has no use for simply has no effect.


def options(**more: Any) -> JudgeGivenOptions:
    given = {"judge": "openai:j", "out": "-"} | more
    return JudgeGivenOptions(**given | {"judge": (given["judge"],)})


@each_row(__file__, "truebench_judges", "levels")
def test_options_of_every_level_go_together(more: dict[str, Any], level: str) -> None:
    assert options(**options_of(more)).settings.level == level


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


def test_another_panel_is_another_run(tmp_path: Path) -> None:
    judges = three(tmp_path)
    run(tmp_path, judges)
    with pytest.raises(UserError, match="belongs to a run with other options"):
        run(tmp_path, judges, panel="unanimous")


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
