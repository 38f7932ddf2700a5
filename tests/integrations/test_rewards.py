"""The reward function as trainers call it: what they hand over, what comes back, and what verdicts are worth."""

from __future__ import annotations

import asyncio
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import truebench_hf
from tests.support.corpus import each_row
from tests.support.runs import script
from tests.support.tiny_chat import tiny_chat
from truebench_hf import Criterion, Judge, UserError, checklist_reward
from truebench_hf.integrations.rewards import SHAPES, reward_of
from truebench_hf.models.scripted import verdicts
from truebench_hf.types import Label, Verdict

TWO = ["names a colour", "is in French"]


class Saying:
    """A judge that keeps what it is asked, fails criteria which hold one of some words, and gives up on others."""

    def __init__(self, *failing: str, open: str = "never") -> None:
        self.labels, self.open = dict.fromkeys(failing, "FAIL"), open
        self.prompts: list[str] = []

    def __call__(self, messages: list[dict[str, str]]) -> str:
        self.prompts.append(messages[0]["content"])
        return "no verdict" if self.open in self.prompts[-1] else verdicts(self.prompts[-1], self.labels)


def generator(messages: list[dict[str, str]]) -> str:
    return "Analysis: short.\nQuestions:\nDoes it name a colour?\nIs it in French?"


CHAT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Name a colour."}]
PARTS = [{"role": "user", "content": [{"type": "text", "text": "Name a "}, {"type": "text", "text": "colour."}]}]
CALLS = [
    {"role": "assistant", "content": "Let me look.", "tool_calls": [{"type": "function"}]},
    {"role": "tool", "name": "look", "content": "blue"},
    {"role": "assistant", "content": "Bleu."},
]


@pytest.mark.parametrize(
    ("prompt", "completion", "shown", "why"),
    [
        ("Name a colour.", "Bleu.", ["Bleu."], "texts"),
        (CHAT, [{"role": "assistant", "content": "Bleu."}], ["Be kind.", "Bleu."], "conversations"),
        ([{"role": "developer", "content": "Be kind."}, CHAT[1]], "Bleu.", ["Be kind."], "another name of the role"),
        (CHAT, [{"content": "Bleu."}], ["Bleu."], "no role"),
        (PARTS, [{"role": "assistant", "content": [{"type": "text", "text": "Bleu."}]}], ["Name a colour."], "parts"),
        ([CHAT[1], {"role": "assistant", "content": "Red."}, {"role": "user", "content": "Again."}], "Bleu.",
         ["Red.", "Again."], "several turns"),
        ("Name a colour.", CALLS, ["Bleu."], "after calls of tools the last thing said"),
        ("Name a colour.", "<think>Is green one?</think>Bleu.", ["Bleu."], "without its thinking"),
        ("Name a colour.", CALLS[1:2], ["(the response is empty)"], "nothing said"),
        ("Name a colour.", [{"role": "assistant", "content": None}], ["(the response is empty)"], "a call of a tool alone"),
        ("Name a colour.", "<think>Is green", ["(the response is empty)"], "cut off while it thought"),
    ],
)  # fmt: skip
def test_prompts_and_completions_in_every_form(prompt: Any, completion: Any, shown: list[str], why: str) -> None:
    judge = Saying()
    assert checklist_reward(judge)([completion], prompts=[prompt], criteria=[TWO]) == [1.0], why
    (asked,) = judge.prompts
    assert [text for text in shown if text not in asked] == [], why
    assert "green" not in asked
    assert "Let me look" not in asked


@pytest.mark.parametrize(
    ("criteria", "why"),
    [
        ([TWO, ["names a colour"]], "lists of texts"),
        (["- names a colour\n- is in French", "names a colour"], "a text with one a line"),
        ([json.dumps(TWO), '["names a colour"]'], "JSON in a cell"),
        ([[{"text": text} for text in TWO], [{"question": "names a colour"}]], "objects"),
        ([[Criterion(TWO[0]).text, TWO[1]], [TWO[0]]], "as criteria"),
    ],
)
def test_criteria_in_every_form(criteria: Any, why: str) -> None:
    reward = checklist_reward(Saying("French"))
    for column in ("criteria", "rubric", "rubrics", "checklist"):
        assert reward(["Blue.", "Blue."], prompts=["Name one."] * 2, **{column: criteria}) == [0.5, 1.0], why


def test_context_and_reference_are_shown() -> None:
    judge = Saying()
    checklist_reward(judge)(
        ["Blue."],
        prompts=["Name one."],
        criteria=[TWO],
        context=["The sky."],
        reference=["Azure."],
        system=["Be kind."],
    )
    assert all(text in judge.prompts[0] for text in ("The sky.", "Azure.", "Be kind."))


def test_questions_are_judged_as_in_tick_and_statements_are_not() -> None:
    judge = Saying()
    columns: dict[str, Any] = {
        "prompts": ["Name one."] * 2,
        "criteria": [["Is it blue?", "青いか？"], ["Is it blue?", "is red"]],
    }
    checklist_reward(judge)(["Blue.", "Red."], **columns)
    asked = sorted(judge.prompts, key=lambda text: "is red" in text)
    assert ["a minor flaw is NO" in text for text in asked] == [True, False]


def test_a_failing_request_is_none(tmp_path: Path) -> None:
    spec = script(tmp_path / "judge.json", [{"contains": "Red.", "error": "burned down"}], {"verdicts": {}})
    rules = [{"contains": "Red.", "error": "burned down"}, {"contains": "<criteria", "verdicts": {}}]
    script(tmp_path / "judge.json", rules)
    reward = checklist_reward(spec, shape="pass_all")
    assert reward(["Blue.", "Red."], prompts=["Name one."] * 2, criteria=[TWO] * 2) == [1.0, None]
    assert "burned down" in reward.last[1].reason


def test_equal_completions_are_judged_once_and_a_cache_outlives_the_training(tmp_path: Path) -> None:
    judge = Saying("French")
    named = truebench_hf.model(judge, name="judge-1")
    columns: dict[str, Any] = {"prompts": ["Name one."] * 4, "criteria": [TWO] * 4}
    said = ["Blue.", "Blue.", "Red.", "Blue."]
    first = checklist_reward(named, cache=tmp_path)
    assert first(said, **columns) == [0.5] * 4
    assert first(said, **columns) == [0.5] * 4
    assert len(judge.prompts) == 2
    first.close()
    assert checklist_reward(named, cache=tmp_path, shape="pass_all")(said, **columns) == [0.0] * 4
    assert len(judge.prompts) == 2, "another shape asks nothing either"


def test_a_checklist_is_written_once_for_a_prompt_that_has_none(tmp_path: Path) -> None:
    asked: list[str] = []

    def writing(messages: list[dict[str, str]]) -> str:
        asked.append(messages[-1]["content"])
        return generator(messages)

    judge = Saying("French")
    for number in (1, 2):
        reward = checklist_reward(
            truebench_hf.model(judge, name="judge"),
            generator=truebench_hf.model(writing, name="writer"),
            cache=tmp_path,
        )
        assert reward(["Blue.", "Red.", "Green."], prompts=["Name one."] * 2 + ["Name another."]) == [0.5] * 3
        assert len(asked) == 2, number
        assert reward(["Blue."], prompts=["Name one."], criteria=[["is short"]]) == [1.0], "given ones come first"
    assert all("Is it in French?" in prompt and "a minor flaw is NO" in prompt for prompt in judge.prompts[:3])
    assert not any("Blue." in prompt for prompt in asked), "it sees no completion"


def test_a_judge_that_is_made_already_is_used_and_stays_open() -> None:
    with Judge(Saying("French"), level="rubric") as judge:
        reward = checklist_reward(judge)
        assert reward(["Blue."], prompts=["Name one."], criteria=[TWO]) == [0.5]
        reward.close()
        assert judge("Name one.", "Blue.", TWO).passed is False


def test_it_works_inside_loops_and_in_threads() -> None:
    columns: dict[str, Any] = {"prompts": ["Name one."] * 2, "criteria": [TWO] * 2}
    reward = checklist_reward(Saying("French"), generator=generator)

    async def inside() -> list[float | None]:
        return reward(["Blue.", "Red."], **columns)

    assert [asyncio.run(inside()) for _ in range(3)] == [[0.5, 0.5]] * 3
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(reward, [f"Blue {n}.", "Red."], ["Name one."] * 2) for n in range(4)]
        assert [call.result() for call in calls] == [[0.5, 0.5]] * 4


@pytest.mark.slow
def test_rewards_may_share_a_loaded_model() -> None:
    """Its batches serve the loops of several judges at the same time."""
    model = truebench_hf.model(tiny_chat(), name="tiny")
    rewards = [checklist_reward(model, level="decision", shape=shape) for shape in ("fraction", "pass_all")]
    columns: dict[str, Any] = {"prompts": ["Name one."] * 4, "criteria": [["a", "b"]] * 4}
    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(reward, [f"Blue {n}" for n in range(4)], **columns) for reward in rewards]
        assert [len(call.result(60)) for call in calls] == [4, 4]


def test_it_can_be_sent_to_another_process(tmp_path: Path) -> None:
    judge = script(tmp_path / "judge.json", [{"contains": "<criteria", "verdicts": {"French": "FAIL"}}])
    sent = pickle.loads(pickle.dumps(checklist_reward(judge, shape="pass_all", cache=tmp_path)))
    assert sent.__name__ == "checklist_pass_all"
    assert sent(["Blue."], prompts=["Name one."], criteria=[TWO]) == [0.0]


def test_a_made_judge_takes_no_settings_and_a_nameless_writer_no_cache(tmp_path: Path) -> None:
    with Judge(Saying()) as judge, pytest.raises(UserError, match=r"level: the judge is made already"):
        checklist_reward(judge, level="rubric")
    with pytest.raises(UserError, match=r"truebench_hf\.model"):
        checklist_reward(script(tmp_path / "judge.json", []), generator=generator, cache=tmp_path)
    with pytest.raises(TypeError, match="lvel"):
        checklist_reward(Saying(), lvel="rubric")  # type: ignore[call-overload]


@each_row(__file__, "rewards", "data_that_cannot_be_judged_is_one_line")
def test_data_that_cannot_be_judged_is_one_line(given: dict[str, Any], said: str) -> None:
    call: dict[str, Any] = {"completions": ["Blue."], "prompts": ["Name one."], "criteria": [["is blue"]]}
    with pytest.raises(UserError) as caught:
        checklist_reward(Saying())(**call | given)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


RULE = {"kind": "count", "unit": "words", "max": 3}
SHORT, KIND = {"text": "At most three words.", "rule": RULE}, "It is kind."


def test_rules_decide_what_they_can_and_a_judge_is_asked_about_the_rest_alone() -> None:
    judge = Saying()
    for criteria, said, rules, reward, asked in (
        ([SHORT], "One two.", True, 1.0, 0),
        ([SHORT, KIND], "One two three four.", True, 0.5, 1),
        ([SHORT], "One two three four.", "decide", 0.0, 1),
        (
            [SHORT],
            "One two three four.",
            "off",
            1.0,
            2,
        ),  # the judge passes all that it is asked; four words are too many
        ([SHORT], "One two three four.", "evidence", 1.0, 3),
    ):
        assert checklist_reward(judge, rules=rules)([said], prompts=["Say something."], criteria=[criteria]) == [reward]
        assert len(judge.prompts) == asked
    alone = pickle.loads(pickle.dumps(checklist_reward(rules=True)))
    assert alone(["", "  ", "One."], prompts=["Say something."] * 3, criteria=[[SHORT]] * 3) == [None, None, 1.0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, 'judge: there is none; name one, or let rules decide alone: judge="none"'),
        ({"rules": "evidence"}, "judge=None: with rules=.evidence. nothing would be decided"),
        ({"rules": 1}, "rules=1: must be a text"),
    ],
)
def test_nobody_to_judge_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        checklist_reward(**more)


def judged(labels: str, weights: tuple[float, ...] = ()) -> list[Verdict]:
    """y, n, u(nknown) and - (not judged)."""
    named: dict[str, Label | None] = {"y": "yes", "n": "no", "u": "unknown", "-": None}
    points = weights or (1.0,) * len(labels)
    return [Verdict(Criterion("x", weight=w), named[l]) for l, w in zip(labels, points, strict=True)]  # noqa: E741


@each_row(__file__, "rewards", "by_hand")
def test_by_hand(labels: str, weights: tuple[float, ...], fraction: float | None, pass_all: float | None) -> None:
    found = [reward_of(judged(labels, weights), shape) for shape in ("fraction", "pass_all")]
    assert found == [one if one is None else pytest.approx(one) for one in (fraction, pass_all)]


cases = st.lists(st.tuples(st.sampled_from("ynu-"), st.floats(0.5, 4) | st.floats(-4, -0.5)), min_size=1, max_size=7)


@given(cases, st.sampled_from(sorted(SHAPES)))
def test_bounds_and_that_more_passes_never_earn_less(pairs: list[tuple[str, float]], shape: str) -> None:
    labels, weights = zip(*pairs, strict=True)
    given = judged("".join(labels), weights)
    reward = reward_of(given, shape)
    if reward is None:
        return
    assert 0.0 <= reward <= 1.0
    for place, one in enumerate(given):
        good: Label = "yes" if one.criterion.weight > 0 else "no"
        better = reward_of([*given[:place], replace(one, label=good), *given[place + 1 :]], shape)
        # A verdict that was open may leave another one that is.
        assert better is None or better >= reward - 1e-9, (place, one)


@given(cases, st.sampled_from(["fraction", "pass_all"]), st.data())
def test_what_is_decided_stays_whatever_the_open_ones_become(
    pairs: list[tuple[str, float]], shape: str, data: st.DataObject
) -> None:
    labels, weights = zip(*pairs, strict=True)
    reward = reward_of(judged("".join(labels), weights), shape)
    settled = "".join(data.draw(st.sampled_from("yn")) if label in "u-" else label for label in labels)
    if reward is not None:
        assert reward_of(judged(settled, weights), shape) == pytest.approx(reward)
