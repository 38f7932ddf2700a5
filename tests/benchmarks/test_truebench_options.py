"""Options of the judge at its levels: what a level has no use for simply has no effect."""

from __future__ import annotations

from typing import Any

import pytest

from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions
from truebench_hf.errors import UserError
from truebench_hf.judging.judge import LEVELS
from truebench_hf.study.roles import Roles

CHECKLIST, RUBRIC, DECISION, CASCADE = ({"judge_level": level} for level in LEVELS)


def options(**more: Any) -> JudgeGivenOptions:
    given = {"judge": "openai:j", "out": "-"} | more
    return JudgeGivenOptions(**given | {"judge": (given["judge"],)})


@pytest.mark.parametrize(
    ("more", "level"),
    [
        (CHECKLIST | {"threshold": 0.9}, "checklist"),
        (RUBRIC | {"reasoning": False, "structured": "off", "judge_temperature": 0.5, "votes": 3}, "rubric"),
        (DECISION | {"threshold": 0.9, "structured": "on", "reasoning": False, "votes": 3}, "decision"),
        (CASCADE | {"threshold": 0.9, "structured": "on"}, "cascade"),
        (CASCADE | {"cascade_judge": "openai:c", "cascade_judge_arg": ("timeout=3",)}, "cascade"),
        ({}, "checklist"),
        ({"judge": "smollm2"}, "decision"),  # writes no usable text
        (
            {"judge": "smollm2", "protocol": "official", "threshold": 0.9},
            "checklist",
        ),  # the official one knows no other
    ],
)
def test_options_of_every_level_go_together(more: dict[str, Any], level: str) -> None:
    assert options(**more).settings.level == level


def test_arguments_of_a_cascade_judge_that_is_not_named_are_refused() -> None:
    with pytest.raises(UserError, match="are about --cascade-judge"):  # which is the judge itself here
        Roles(options(**CASCADE, judge="smollm2", cascade_judge_arg=("timeout=3",)))
