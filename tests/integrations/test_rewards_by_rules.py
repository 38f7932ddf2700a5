"""A reward by rules: without any model where all can be measured, beside a judge where not."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import truebench_hf
from truebench_hf import checklist_reward
from truebench_hf.errors import UserError

RULE = {"kind": "count", "unit": "words", "max": 3}
SHORT, KIND = {"text": "At most three words.", "rule": RULE}, "It is kind."
PROMPT = "Say something."


class Judge:
    """Passes everything, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, messages: Any) -> str:
        self.asked += 1
        return '{"criteria_1": "PASS"}'


def rewards(criteria: list[Any], *completions: str, judge: Any = None, **more: Any) -> list[float | None]:
    reward = checklist_reward(judge, **{"rules": True} | more)
    try:
        count = len(completions)
        return reward(list(completions), prompts=[PROMPT] * count, criteria=[criteria] * count)
    finally:
        reward.close()


def test_an_empty_completion_is_no_short_one() -> None:
    assert rewards([SHORT], "", "  ") == [None, None]


def test_a_judge_is_asked_about_the_rest_alone() -> None:
    judge = Judge()
    assert rewards([SHORT], "One two.", judge=judge) == [1.0]
    assert judge.asked == 0
    assert rewards([SHORT, KIND], "One two three four.", judge=judge) == [0.5]
    assert judge.asked == 1


@pytest.mark.parametrize(
    ("rules", "value"), [(True, 0.0), ("decide", 0.0), (False, 1.0), ("off", 1.0), ("evidence", 1.0)]
)
def test_rules_are_a_setting_of_judges(rules: str | bool, value: float) -> None:
    """The judge passes all that it is asked; four words are too many."""
    assert rewards([SHORT], "One two three four.", judge=Judge(), rules=rules) == [value]
    found = truebench_hf.judge(PROMPT, "One two three four.", [SHORT], Judge(), rules=rules)
    assert found.passed is bool(value)
    assert (found.to_dict()["verdicts"][0]["judge"] == "rules") == (value == 0)


def test_it_goes_to_another_process() -> None:
    reward = pickle.loads(pickle.dumps(checklist_reward(rules=True)))
    assert reward(["One."], prompts=[PROMPT], criteria=[[SHORT]]) == [1.0]
    reward.close()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, 'judge: there is none; name one, or let rules decide alone: judge="none"'),
        ({"rules": "evidence"}, "judge=None: with rules=.evidence. nothing would be decided"),
        ({"rules": 1}, "rules=1: must be a text"),
    ],
)
def test_what_makes_no_sense_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        checklist_reward(**more)


def test_a_judge_that_is_made_has_its_rules() -> None:
    with truebench_hf.Judge(Judge(), rules="decide") as kept:
        with pytest.raises(UserError, match="rules: the judge is made already"):
            checklist_reward(kept, rules=True)
        reward = checklist_reward(kept)
        assert reward(["One two three four."], prompts=[PROMPT], criteria=[[SHORT]]) == [0.0]
        reward.close()
