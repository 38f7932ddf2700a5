"""Who judges a run: a panel, or one judge with the options of its levels."""

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


def three(folder: Path) -> list[str]:
    return [judge(folder / "a.json", "Europe"), judge(folder / "b.json", "Europe", "short"), judge(folder / "c.json")]


def test_a_panel_judges_a_run(tmp_path: Path) -> None:
    judges = three(tmp_path)
    report = run(tmp_path, judges)
    votes = [["yes", "yes", "yes"], ["no", "no", "yes"], ["yes", "no", "yes"]]
    assert [(v["label"], v["votes"]) for v in verdicts(tmp_path)] == list(zip(("yes", "no", "yes"), votes, strict=True))
    values = [
        score.value
        for score in map(report.scores.get, ("overall", "flip_rate", "vote_share"))
        if isinstance(score, Score)
    ]
    assert values == pytest.approx([0, 2 / 3, (1 + 2 / 3 + 2 / 3) / 3])
    assert report.provenance["judge"] == f"{' + '.join(judges)} (majority)"
    calls = {role: spent["calls"] for role, spent in report.usage["total"].items()}
    assert calls == dict.fromkeys(("model", "judge", "judge 2", "judge 3"), 1)
    with pytest.raises(UserError, match="belongs to a run with other options"):
        run(tmp_path, judges, panel="unanimous")


@pytest.mark.parametrize(
    ("panel", "labels"), [("unanimous", ["yes", None, None]), ("weighted:1,1,3", ["yes", "yes", "yes"])]
)
def test_other_rules(tmp_path: Path, panel: str, labels: list[str | None]) -> None:
    run(tmp_path, three(tmp_path), panel=panel)
    assert [verdict["label"] for verdict in verdicts(tmp_path)] == labels


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
