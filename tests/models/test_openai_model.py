"""What reaches the server, how its answers are read, and typed yes/no questions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.openai_answers import probability
from tests.support.openai_client import HELLO, chat, decide, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.judging.signed_asking import verdict_schema
from truebench_hf.models.openai_reading import completion
from truebench_hf.models.protocol import ChatRequest, Completion, DecisionRequest, Sampling
from truebench_hf.types import Usage


def test_a_plain_answer_with_its_usage(server: OpenAIServer) -> None:
    answer = chat(open_at(server.url))
    assert answer.text.startswith("Answer ")
    assert not answer.truncated
    assert answer.usage.calls == 1
    assert answer.usage.input_tokens > 0 < answer.usage.output_tokens
    (body,) = server.stats()["bodies"]
    assert body["messages"] == [{"role": "user", "content": "Name a river."}]
    assert (body["temperature"], body["top_p"], body["max_tokens"]) == (0.0, 0.98, 4096)
    assert "repetition_penalty" not in body, "1.0 changes nothing, and some servers refuse the name"


def test_a_schema_reaches_the_server(server: OpenAIServer) -> None:
    answer = chat(open_at(server.url), ChatRequest(HELLO.messages, schema=verdict_schema("3f9a2c41", 1, False)))
    assert server.stats()["bodies"][0]["response_format"]["json_schema"]["strict"] is True
    assert json.loads(answer.text) in [{"id": "3f9a2c41", "criteria_1": label} for label in ("PASS", "FAIL")]


def test_options_reach_the_server(server: OpenAIServer) -> None:
    model = open_at(
        server.url,
        chat_template_kwargs={"enable_thinking": False},
        extra_body={"top_k": 20},
        reasoning_effort="low",
        omit="top_p, temperature",
    )
    chat(model, ChatRequest(HELLO.messages, Sampling(repetition_penalty=1.1, max_tokens=7)))
    (body,) = server.stats()["bodies"]
    assert body["chat_template_kwargs"] == {"enable_thinking": False}
    assert (body["top_k"], body["reasoning_effort"], body["repetition_penalty"]) == (20, "low", 1.1)
    assert body["max_tokens"] == 7
    assert not {"top_p", "temperature"} & set(body)


def test_options_of_a_model_stand_in_place_of_what_a_command_asks_for(server: OpenAIServer) -> None:
    own = {"max_tokens": 9, "top_p": 0.5, "repetition_penalty": 1.2}
    model = open_at(server.url, **own)
    chat(model, ChatRequest(HELLO.messages, Sampling(temperature=0.7, max_tokens=4096)))
    (body,) = server.stats()["bodies"]
    assert {name: body[name] for name in own} == own
    assert body["temperature"] == 0.7, "what is not set stays the command's"
    assert model.identity.options == own, "other answers are other calls in the ledger"


def test_a_line_end_behind_key_or_url_is_no_part_of_it(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a .env file with Windows line ends leaves them."""
    monkeypatch.setenv("MY_KEY", "secret\r")
    model = open_at(f"{server.url}/\r\n", api_key_env="MY_KEY")
    assert model.cache_scope == server.url
    assert chat(model).text.startswith("Answer ")
    assert server.stats()["total"] == 1


def test_what_shapes_the_answers_is_part_of_the_identity() -> None:
    plain = open_at("http://127.0.0.1:9/v1")
    assert plain.identity == open_at("http://127.0.0.1:10/v1", timeout=3.0).identity, "where it runs shapes nothing"
    one, other = (open_at("http://127.0.0.1:9/v1", omit=omit) for omit in ("top_p,temperature", " top_p, temperature"))
    assert one.identity == other.identity, "blanks shape nothing"
    assert plain.identity != open_at("http://127.0.0.1:9/v1", chat_template_kwargs={"enable_thinking": False}).identity


@pytest.mark.parametrize(
    ("script", "expected", "reason"),
    [
        ({"message": {"content": None}}, Completion("", ""), "content null is an empty answer"),
        ({"message": {"content": None, "refusal": "I will not."}}, Completion("I will not.", ""), "a refusal"),
        (
            {"message": {"content": "Rhine", "reasoning_content": "thinking"}},
            Completion("Rhine", "thinking"),
            "thinking in its own field",
        ),
        ({"message": {"content": "Rhine", "reasoning": "thinking"}}, Completion("Rhine", "thinking"), "another field"),
        ({"message": {"content": "<think>a</think>Rhine"}}, Completion("Rhine", "a"), "thinking in the text"),
        (
            {"message": {"content": "<think>b</think>Rhine", "reasoning_content": "a"}},
            Completion("Rhine", "a\nb"),
            "both",
        ),
        ({"message": {"content": "<think>a"}, "finish_reason": "length"}, Completion("", "a", truncated=True), "cut"),
        ({"message": {"content": "<think>a"}}, Completion("", "a", truncated=True), "unclosed thinking is cut off too"),
        ({"message": {"content": "Rhi"}, "finish_reason": "length"}, Completion("Rhi", truncated=True), "cut off"),
        ({"message": {"content": [{"type": "text", "text": "Rhine"}]}}, Completion("Rhine"), "content parts"),
        (
            {
                "message": {
                    "content": [
                        {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                        {"type": "text", "text": "Rhi"},
                        "ne",
                    ]
                }
            },
            Completion("Rhine", "hm"),
            "Mistral's thinking part, and a part that is a text",
        ),
        (
            {"message": {"content": [{"type": "reasoning", "text": "hm"}, {"text": "Rhine"}]}},
            Completion("Rhine", "hm"),
            "another thinking part, and one without a type",
        ),
    ],
)
def test_messages_as_servers_send_them(
    server: OpenAIServer, script: dict[str, Any], expected: Completion, reason: str
) -> None:
    server.add_scripts([script])
    answer = chat(open_at(server.url))
    assert (answer.text, answer.reasoning, answer.truncated) == (
        expected.text, expected.reasoning, expected.truncated,
    ), reason  # fmt: skip


def test_an_answer_broken_off_by_the_server_is_asked_for_again(server: OpenAIServer) -> None:
    server.add_scripts([{"message": {"content": "The Rhi"}, "finish_reason": "error", "times": 1}])
    assert chat(open_at(server.url)).text.startswith("Answer ")
    assert server.stats()["total"] == 2


@pytest.mark.parametrize("end", ["content_filter", "content_filter: SAFETY"])
def test_an_answer_stopped_by_a_filter_is_none(server: OpenAIServer, end: str) -> None:
    server.add_scripts([{"message": {"content": "The Rhi"}, "finish_reason": end}])
    with pytest.raises(RequestFailed, match="content filter stopped the answer"):
        chat(open_at(server.url))
    assert server.stats()["total"] == 1


@pytest.mark.parametrize(
    ("usage", "expected", "reason"),
    [
        (None, Usage(0, 0, 0, 1, 1), "null"),
        ({}, Usage(0, 0, 0, 1, 1), "empty"),
        ("many", Usage(0, 0, 0, 1, 1), "no object"),
        ({"prompt_tokens": 3, "completion_tokens": 2}, Usage(3, 2, 0, 1), "no details"),
        ({"prompt_tokens": 3, "completion_tokens": None}, Usage(3, 0, 0, 1, 1), "a null count"),
        ({"prompt_tokens": "3", "completion_tokens": " 2 "}, Usage(3, 2, 0, 1), "counts as text"),
        (
            {"prompt_tokens": 3.0, "completion_tokens": 0},
            Usage(3, 0, 0, 1),
            "a whole number is one however it is written",
        ),
        ({"prompt_tokens": 3, "completion_tokens": -2}, Usage(3, 0, 0, 1, 1), "below zero"),
        ({"prompt_tokens": True, "completion_tokens": 2}, Usage(0, 2, 0, 1, 1), "no number"),
        ({"prompt_tokens": 2.5, "completion_tokens": 2}, Usage(0, 2, 0, 1, 1), "half a token"),
        (
            {"prompt_tokens": "about 3", "completion_tokens": "²"},
            Usage(0, 0, 0, 1, 1),
            "words, and what only looks like a digit",
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": "-1"}},
            Usage(3, 5, 0, 1, 1),
            "thinking below zero",
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": None}},
            Usage(3, 5, 0, 1),
            "null thinking",
        ),
        (
            {"prompt_tokens": 3, "completion_tokens": 5, "completion_tokens_details": {"reasoning_tokens": 4}},
            Usage(3, 5, 4, 1),
            "thinking is part of the output",
        ),
        ({"input_tokens": 3, "output_tokens": 2}, Usage(3, 2, 0, 1), "the newer names"),
    ],
)
def test_an_odd_usage_loses_no_answer(server: OpenAIServer, usage: Any, expected: Usage, reason: str) -> None:
    server.add_scripts([{"usage": usage}])
    answer = chat(open_at(server.url))
    assert answer.text.startswith("Answer "), reason
    assert answer.usage == expected, reason
    assert server.stats()["total"] == 1, reason


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


def test_a_server_of_ones_own_is_asked_at_systemone(server: OpenAIServer) -> None:
    decide(open_at(server.url), DecisionRequest("s", ("q",)))
    assert server.stats()["by_path"] == {"/v1/systemone": 1}


@pytest.mark.parametrize(
    ("kind", "answers", "expected", "reason"),
    [
        ("systemone", {"criteria_2": {"type": "noul", "noul": 0.25}}, (None, 0.25), "one answer is missing"),
        ("systemone", {"criteria_1": {"type": "refusal"}, "criteria_2": {"noul": 1}}, (None, 1.0), "one was refused"),
        ("systemone", {"criteria_1": {"noul": 1.5}, "criteria_2": {"noul": True}}, (None, None), "no probabilities"),
        ("systemone", {"criteria_1": {"noul": float("nan")}, "criteria_2": "yes"}, (None, None), "no numbers"),
        ("decisions", [{"name": "criteria_2", "probability": 0.25}], (None, 0.25), "the first is left out"),
        (
            "decisions",
            [{"name": "criteria_2", "probability": 0.1}, {"name": "criteria_1", "probability": 0.9}],
            (0.9, 0.1),
            "answers are matched by name",
        ),
        ("decisions", [{"name": "criteria_1", "type": "refusal"}, None], (None, None), "a refusal and a null"),
    ],
)
def test_a_question_without_a_probability_is_declined(
    server: OpenAIServer, kind: str, answers: Any, expected: tuple[float | None, ...], reason: str
) -> None:
    server.add_faults([{"body": {"answers": answers, "usage": None}}])
    decision = decide(open_at(server.url, decisions=kind), DecisionRequest("s", ("first?", "second?")))
    assert decision.probabilities == expected, reason


@pytest.mark.parametrize("kind", ["systemone", "decisions"])
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"error": {"message": "upstream failed"}}, "an error sent with status 200"),
        ({"error": {"message": "upstream failed"}, "answers": {"criteria_1": {"noul": 0.0}}}, "beside an answer"),
        ({}, "nothing"),
        ({"answers": None}, "null"),
        ({"answers": {}}, "an empty object"),
        ({"answers": []}, "an empty list"),
        ({"answers": "yes"}, "a text"),
        ({"answers": {"criteria_9": {"noul": 0.0}}}, "an object with a name that was not asked"),
        ({"answers": [{"name": "criteria_9", "probability": 0.0}, {"name": ["criteria_1"]}, 1]}, "a list with others"),
    ],
)
def test_a_body_that_answers_nothing_is_no_refusal_but_asked_again(
    server: OpenAIServer, kind: str, body: Any, reason: str
) -> None:
    server.add_faults([{"body": body}])
    decision = decide(open_at(server.url, decisions=kind), DecisionRequest("s", ("q",)))
    assert decision.probabilities == (pytest.approx(probability("s", "q")),), reason
    assert server.stats()["total"] == 2, reason
