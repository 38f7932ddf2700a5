"""What reaches the server, how its answers are read (`served.yaml`), and typed yes/no questions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.openai_answers import probability
from tests.support.openai_client import HELLO, chat, decide, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.signed_asking import verdict_schema
from truebench_hf.models.openai_reading import completion
from truebench_hf.models.protocol import ChatRequest, DecisionRequest
from truebench_hf.types import Usage


def test_a_schema_reaches_the_server(server: OpenAIServer) -> None:
    answer = chat(open_at(server.url), ChatRequest(HELLO.messages, schema=verdict_schema("3f9a2c41", 1, False)))
    assert server.stats()["bodies"][0]["response_format"]["json_schema"]["strict"] is True
    assert json.loads(answer.text) in [{"id": "3f9a2c41", "criteria_1": label} for label in ("PASS", "FAIL")]


def test_what_shapes_the_answers_is_part_of_the_identity() -> None:
    plain = open_at("http://127.0.0.1:9/v1")
    assert plain.identity == open_at("http://127.0.0.1:10/v1", timeout=3.0).identity, "where it runs shapes nothing"
    one, other = (open_at("http://127.0.0.1:9/v1", omit=omit) for omit in ("top_p,temperature", " top_p, temperature"))
    assert one.identity == other.identity, "blanks shape nothing"
    assert plain.identity != open_at("http://127.0.0.1:9/v1", chat_template_kwargs={"enable_thinking": False}).identity


@each_row(__file__, "served", "messages")
def test_messages_as_servers_send_them(server: OpenAIServer, script: dict[str, Any], expected: list[Any]) -> None:
    server.add_scripts([script])
    answer = chat(open_at(server.url))
    assert [answer.text, answer.reasoning, answer.truncated] == expected


@pytest.mark.parametrize("end", ["content_filter", "content_filter: SAFETY"])
def test_an_answer_stopped_by_a_filter_is_none(server: OpenAIServer, end: str) -> None:
    server.add_scripts([{"message": {"content": "The Rhi"}, "finish_reason": end}])
    with pytest.raises(RequestFailed, match="content filter stopped the answer"):
        chat(open_at(server.url))
    assert server.stats()["total"] == 1


@each_row(__file__, "served", "usages")
def test_an_odd_usage_loses_no_answer(server: OpenAIServer, usage: Any, expected: list[int]) -> None:
    server.add_scripts([{"usage": usage}])
    answer = chat(open_at(server.url))
    assert answer.text.startswith("Answer ")
    assert answer.usage == Usage(*expected)
    assert server.stats()["total"] == 1


def test_half_a_character_is_replaced_for_good() -> None:
    made = completion({"choices": [{"message": {"content": "The answer \ud83d", "reasoning_content": "\udc00hm"}}]})
    for text in (made.text, made.reasoning):
        text.encode("utf-8")
    assert made.text.startswith("The answer")


@pytest.mark.parametrize(("kind", "path", "size"), [("systemone", "systemone", 64), ("decisions", "decisions", 400)])
def test_both_decision_endpoints(server: OpenAIServer, kind: str, path: str, size: int) -> None:
    questions = tuple(f"Question {i}?" for i in range(size + 1))
    decision = decide(open_at(server.url, decisions=kind), DecisionRequest("The state.", questions))
    expected = [probability("The state.", question) for question in questions]
    assert list(decision.probabilities) == pytest.approx(expected), "in order, across two requests"
    assert server.stats()["by_path"] == {f"/v1/{path}": 2}
    assert decision.usage.calls == 2
    assert decision.usage.input_tokens > 0


@each_row(__file__, "served", "decisions")
def test_a_question_without_a_probability_is_declined(
    server: OpenAIServer, kind: str, answers: Any, expected: list[float | None]
) -> None:
    server.add_faults([{"body": {"answers": answers, "usage": None}}])
    decision = decide(open_at(server.url, decisions=kind), DecisionRequest("s", ("first?", "second?")))
    assert list(decision.probabilities) == expected


@pytest.mark.parametrize("kind", ["systemone", "decisions"])
@each_row(__file__, "served", "nothing")
def test_a_body_that_answers_nothing_is_no_refusal_but_asked_again(server: OpenAIServer, kind: str, body: Any) -> None:
    server.add_faults([{"body": body}])
    decision = decide(open_at(server.url, decisions=kind), DecisionRequest("s", ("q",)))
    assert decision.probabilities == (pytest.approx(probability("s", "q")),)
    assert server.stats()["total"] == 2
