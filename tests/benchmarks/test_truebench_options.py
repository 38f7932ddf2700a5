"""Options of the judge that the chosen level has no use for: refused, since `run.json` would note them as heeded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truebench_hf.benchmarks.truebench.options import JudgeGivenOptions
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import LEVELS
from truebench_hf.study.roles import Roles

CHECKLIST, RUBRIC, DECISION, CASCADE = ({"judge_level": level} for level in LEVELS)


def options(**more: Any) -> JudgeGivenOptions:
    given = {"judge": "openai:j", "out": "-"} | more
    return JudgeGivenOptions(**given | {"judge": (given["judge"],)})


@pytest.mark.parametrize("level", [None, *LEVELS])
@pytest.mark.parametrize("judge", ["openai:j", "smollm2"])
@pytest.mark.parametrize("protocol", ["default", "official"])
def test_what_is_not_given_is_never_refused(level: str | None, judge: str, protocol: str) -> None:
    if protocol == "default" or level in (None, "checklist"):
        assert options(judge_level=level, judge=judge, protocol=protocol).settings.level in LEVELS


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (CHECKLIST | {"threshold": 0.9}, "--threshold goes with --judge-level decision or cascade, not with checklist"),
        ({"threshold": 0.5}, "--threshold goes with"),  # given, though it is what decision takes by default
        (CHECKLIST | {"abstain_band": "0.1,0.9"}, "--abstain-band goes with"),
        (RUBRIC | {"threshold": 0.9}, "not with rubric"),
        ({"protocol": "official", "judge": "smollm2", "threshold": 0.9}, "not with checklist"),
        (DECISION | {"structured": "on"}, "--structured goes with --judge-level checklist, rubric or cascade"),
        (DECISION | {"reasoning": False}, "--no-reasoning goes with"),
        ({"judge": "smollm2", "reasoning": False}, "not with decision"),  # its level by default
        (DECISION | {"judge_temperature": 0.5}, "--judge-temperature goes with"),
        (DECISION | {"judge_max_tokens": 100}, "--judge-max-tokens goes with"),
        (CHECKLIST | {"cascade_level": "rubric"}, "--cascade-level: the options of a cascade go with --judge-level"),
        (DECISION | {"cascade_judge_base_url": "http://h"}, "--cascade-judge-base-url: the options of a cascade"),
    ],
)
def test_what_the_level_has_no_use_for_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        _ = options(**more).settings
    assert said in str(caught.value)


def test_arguments_of_a_cascade_judge_that_is_not_named_are_refused() -> None:
    with pytest.raises(UserError, match="are about --cascade-judge"):  # which is the judge itself here
        Roles(options(**CASCADE, judge="smollm2", cascade_judge_arg=("timeout=3",)))


@pytest.mark.parametrize(
    "more",
    [
        DECISION | {"threshold": 0.9, "abstain_band": "0.1,0.9", "votes": 3},
        CASCADE | {"threshold": 0.9, "abstain_band": "0.1,0.9", "cascade_level": "rubric", "structured": "on"},
        CASCADE | {"reasoning": False, "cascade_judge": "openai:c", "cascade_judge_arg": ("timeout=3",)},
        RUBRIC | {"reasoning": False, "structured": "off", "judge_temperature": 0.5, "votes": 3},
    ],
)
def test_what_the_level_heeds_is_taken(more: dict[str, Any]) -> None:
    assert options(**more).settings.level == more["judge_level"]


@pytest.mark.parametrize(
    ("more", "used"),
    [
        (CHECKLIST, {"checklist", "repair"}),
        (RUBRIC, {"rubric", "repair"}),
        (DECISION, {"decision", "decision_question"}),
        (CASCADE, {"decision", "decision_question", "checklist", "repair"}),
        (CASCADE | {"cascade_level": "rubric"}, {"decision", "decision_question", "rubric", "repair"}),
    ],
)
def test_a_prompt_that_is_never_asked_cannot_be_replaced(tmp_path: Path, more: dict[str, Any], used: set[str]) -> None:
    mine = tmp_path / "mine.jinja"
    mine.write_text("mine")
    for name in ("checklist", "rubric", "decision", "decision_question", "repair"):
        given = options(**more, prompt=(f"{name}={mine}",))
        if name in used:
            assert given.settings
        else:
            with pytest.raises(UserError, match=f"--prompt {name}: is not used by this judge"):
                _ = given.settings
