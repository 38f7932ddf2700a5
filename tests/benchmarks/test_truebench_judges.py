"""Who judges a run: a panel, with what is decided, asked, kept and refused; and one judge, with the options of its levels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.corpus import each_row, options_of
from tests.support.runs import row, script, write_jsonl
from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions
from truebench_hf.data.records import Reader
from truebench_hf.errors import UserError
from truebench_hf.results.report import Report
from truebench_hf.study.roles import Roles
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
    again = run(tmp_path, judges)
    assert (again.scores, again.usage["now"]) == (report.scores, {}), "nothing is asked twice"


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


def test_another_panel_is_another_run(tmp_path: Path) -> None:
    judges = three(tmp_path)
    run(tmp_path, judges)
    with pytest.raises(UserError, match="belongs to a run with other options"):
        run(tmp_path, judges, panel="unanimous")


# One judge at its levels: what a level has no use for simply has no effect.


def options(**more: Any) -> JudgeGivenOptions:
    given = {"judge": "openai:j", "out": "-"} | more
    return JudgeGivenOptions(**given | {"judge": (given["judge"],)})


@each_row(__file__, "truebench_judges", "levels")
def test_options_of_every_level_go_together(more: dict[str, Any], level: str) -> None:
    assert options(**options_of(more)).settings.level == level


def test_arguments_of_a_cascade_judge_that_is_not_named_are_refused() -> None:
    with pytest.raises(UserError, match="are about --cascade-judge"):  # which is the judge itself here
        Roles(options(judge_level="cascade", judge="smollm2", cascade_judge_arg=("timeout=3",)))
