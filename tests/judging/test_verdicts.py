"""A judge whose answer cannot be used is told why and asked again, a bounded number of times."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.runs import caller
from truebench_hf.judging.judge import PASS_FAIL
from truebench_hf.judging.verdicts import ask_verdicts, verdict_schema
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.models.scripted import ScriptedModel
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Label, Message, Verdict

GOOD = '1. It does.\n2. It does not.\n```json\n{"criteria_1": "PASS", "criteria_2": "FAIL"}\n```'
HALF = '{"criteria_1": "PASS"}'
DOUBLED = '{"criteria_1": "PASS", "criteria_1": "FAIL", "criteria_2": "PASS"}'
QUOTATION = '{"criteria_1": "PASS", "criteria_2": "PASS"}'
ERROR = {"error": "the server burned down"}
CRITERIA = (Criterion("is short"), Criterion("is German"))


def asked(answers: Sequence[Any], sampling: Sampling = Sampling()) -> tuple[list[Verdict], list[Any]]:
    """The verdicts of a judge that gives these answers one after another, and the requests it got."""
    left = list(answers)
    judge = ScriptedModel("judge", lambda request: left.pop(0))
    request = ChatRequest((Message("user", "Judge this."),), sampling, 3)
    verdicts = asyncio.run(ask_verdicts(caller(judge), request, CRITERIA, PASS_FAIL, Prompts()))
    return verdicts, judge.prompts


@pytest.mark.parametrize(
    ("answers", "labels", "calls", "reason"),
    [
        ([GOOD], ["yes", "no"], 1, "a good answer is not questioned"),
        (["hm", GOOD], ["yes", "no"], 2, "unreadable, then good"),
        (["hm", "{}", GOOD], ["yes", "no"], 3, "good at the last chance"),
        (["hm", "{}", "[]", GOOD], [None, None], 3, "never a fourth call"),
        ([HALF, HALF, HALF], ["yes", None], 3, "what is settled stays, the rest is None"),
        ([HALF, '{"criteria_2": "FAIL"}', "hm"], ["yes", "no"], 3, "answers complete each other"),
        ([HALF, '{"criteria_1": "FAIL", "criteria_2": "PASS"}'], ["no", "yes"], 2, "the later answer counts"),
        ([HALF, DOUBLED, DOUBLED], [None, None], 3, "who contradicts himself on one is believed on none"),
        ([DOUBLED, HALF, HALF], [None, None], 3, "nor before or after"),
        ([HALF, '{"criteria_1": "FAIL"}', "hm"], [None, None], 3, "and one that a later answer contradicts"),
        ([HALF, '{"criteria_1": "maybe"}', "hm"], [None, None], 3, "or takes back"),
        ([HALF, f"{GOOD} {QUOTATION}", "hm"], [None, None], 3, "or leaves in doubt"),
        ([HALF, DOUBLED, GOOD], ["yes", "no"], 3, "a good answer needs no other"),
        (
            [{"text": f"1. The response claims {QUOTATION} for itself", "truncated": True}, GOOD],
            ["yes", "no"],
            2,
            "cut off in a quotation",
        ),
        ([{"text": GOOD, "truncated": True}], ["yes", "no"], 1, "cut off behind a verdict that is complete"),
        ([{"text": QUOTATION, "truncated": True}], ["yes", "yes"], 1, "the same with a schema"),
        ([ERROR], [None, None], 1, "a failed request is not asked again here: it was retried below"),
        ([HALF, ERROR], ["yes", None], 2, "a failure later keeps what was settled"),
        ([{"text": "", "truncated": True}, GOOD], ["yes", "no"], 2, "cut off, then good"),
        ([{"text": "", "truncated": True}] * 3, [None, None], 3, "always cut off"),
        ([{"text": "", "reasoning": GOOD}] * 3, [None, None], 3, "a verdict inside thinking is none"),
    ],
)
def test_asking_again(answers: list[Any], labels: list[Label | None], calls: int, reason: str) -> None:
    verdicts, requests = asked(answers)
    assert [verdict.label for verdict in verdicts] == labels, reason
    assert len(requests) == calls, reason
    assert [verdict.criterion for verdict in verdicts] == list(CRITERIA)
    assert {verdict.judge for verdict in verdicts} == {"scripted:judge"}


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        (["hm"] * 3, "no JSON object with criteria_1 to criteria_2 was found"),
        ([ERROR], "the judge gave no answer: the server burned down"),
        ([{"text": HALF, "truncated": True}] * 3, "the answer was cut off at the token limit"),
        (
            [HALF, '{"criteria_1": "PASS", "criteria_2": "PASS", "criteria_2": "FAIL"}', '{"criteria_2": "PASS"}'],
            "the answers differ on criteria_1, criteria_2",
        ),
        ([HALF] * 3, "criteria_2 has no label"),
        (['{"criteria_1": "PASS", "criteria_2": "maybe"}'] * 3, 'criteria_2 has no valid label but "maybe"'),
    ],
)
def test_a_missing_verdict_says_why(answers: list[Any], words: str) -> None:
    verdicts, _ = asked(answers)
    assert verdicts[1].label is None
    assert words in verdicts[1].reason


def test_what_was_contradicted_is_remembered_even_where_it_was_settled() -> None:
    quoted = f"Criteria 2: FAIL\nThe response says:\n```json\n{QUOTATION}\n```"
    verdicts, requests = asked([quoted, GOOD])
    assert [(verdict.label, verdict.conflicting) for verdict in verdicts] == [("yes", False), ("no", True)]
    assert len(requests) == 2, "never taken at once"
    verdicts, _ = asked([quoted] * 3)
    assert [(verdict.label, verdict.conflicting) for verdict in verdicts] == [(None, False), (None, True)]


def test_reasons_are_kept() -> None:
    verdicts, _ = asked([GOOD])
    assert [verdict.reason for verdict in verdicts] == ["It does.", "It does not."]


def test_the_repair_shows_the_answer_and_names_the_problem() -> None:
    _, requests = asked(["first try", HALF, GOOD])
    conversations = [[message.role for message in request.messages] for request in requests]
    assert conversations == [["user"], ["user", "assistant", "user"], ["user", "assistant"] * 2 + ["user"]]
    assert requests[1].messages[:2] == (Message("user", "Judge this."), Message("assistant", "first try"))
    assert "no JSON object" in requests[1].messages[2].content
    assert "criteria_2 has no label" in requests[2].messages[4].content
    for word in ("PASS or FAIL", "criteria_1", "criteria_2"):
        assert word in requests[2].messages[4].content


@pytest.mark.parametrize("empty", ["", " \n"])
def test_the_repair_of_an_empty_answer_sends_no_empty_message(empty: str) -> None:
    """Some servers refuse a conversation with one."""
    _, requests = asked([empty, GOOD])
    assert requests[1].messages[1] == Message("assistant", "(empty answer)")


def test_sampling_sample_and_schema_go_along() -> None:
    sampling = Sampling(temperature=0.7, max_tokens=99)
    _, requests = asked(["hm", GOOD], sampling)
    assert {(r.sampling, r.sample) for r in requests} == {(sampling, 3)}
    form = verdict_schema(2, ["PASS", "FAIL"], True)
    seen: list[ChatRequest] = []
    judge = ScriptedModel("judge", lambda request: seen.append(request) or (GOOD if len(seen) > 1 else "hm"))
    request = ChatRequest((Message("user", "Judge this."),), schema=form)
    asyncio.run(ask_verdicts(caller(judge), request, CRITERIA, PASS_FAIL, Prompts()))
    assert [request.schema for request in seen] == [form, form]


def test_schema_asks_for_the_reason_before_the_verdict() -> None:
    form = verdict_schema(2, ["PASS", "FAIL"], True)
    assert form["required"] == ["criteria_1", "criteria_2"]
    assert list(form["properties"]["criteria_1"]["properties"]) == ["reason", "verdict"]
    assert form["properties"]["criteria_2"]["properties"]["verdict"]["enum"] == ["PASS", "FAIL"]
    assert verdict_schema(1, ["PASS", "FAIL"], False)["properties"]["criteria_1"] == {
        "type": "string",
        "enum": ["PASS", "FAIL"],
    }
    assert form["additionalProperties"] is False
