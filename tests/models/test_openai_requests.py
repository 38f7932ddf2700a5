"""What reaches the server, and which of it is part of the identity."""

from __future__ import annotations

import pytest

from tests.support.openai_client import HELLO, chat, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.judging.verdicts import verdict_schema
from truebench_hf.models.protocol import ChatRequest, Sampling


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
    answer = chat(open_at(server.url), ChatRequest(HELLO.messages, schema=verdict_schema(1, ["PASS", "FAIL"], False)))
    assert server.stats()["bodies"][0]["response_format"]["json_schema"]["strict"] is True
    assert answer.text in ('{"criteria_1": "PASS"}', '{"criteria_1": "FAIL"}')


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


def test_a_line_end_behind_key_or_url_is_no_part_of_it(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a .env file with Windows line ends leaves them."""
    monkeypatch.setenv("MY_KEY", "secret\r")
    model = open_at(f"{server.url}/\r\n", api_key_env="MY_KEY")
    assert model.url == server.url
    assert chat(model).text.startswith("Answer ")
    assert server.stats()["total"] == 1


def test_what_shapes_the_answers_is_part_of_the_identity() -> None:
    plain = open_at("http://127.0.0.1:9/v1")
    assert plain.identity == open_at("http://127.0.0.1:10/v1", timeout=3.0).identity, "where it runs shapes nothing"
    one, other = (open_at("http://127.0.0.1:9/v1", omit=omit) for omit in ("top_p,temperature", " top_p, temperature"))
    assert one.identity == other.identity, "blanks shape nothing"
    assert plain.identity != open_at("http://127.0.0.1:9/v1", chat_template_kwargs={"enable_thinking": False}).identity
