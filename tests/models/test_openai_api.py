"""The OpenAI back end against a real loopback server: what is retried, what stops, what fails one request alone."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.openai_answers import probability
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed, RetryPolicy
from truebench_hf.errors import UserError
from truebench_hf.judging.asking import schema
from truebench_hf.models.openai_api import OpenAIModel, OpenAIOptions
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Sampling, SchemaRefused
from truebench_hf.types import Message, Usage

FAST = RetryPolicy(attempts=3, first_wait=0.001, longest_wait=0.01, deadline=30.0)
HELLO = ChatRequest((Message("user", "Name a river."),))
WITH_SCHEMA = ChatRequest(HELLO.messages, schema=schema(1, ["PASS", "FAIL"], True))


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(record=1000) as running:
        yield running


def open_at(url: str, policy: RetryPolicy = FAST, **options: Any) -> OpenAIModel:
    model = OpenAIModel("test-model", OpenAIOptions(base_url=url, **options))
    model._policy = policy  # the waits of real life would make the tests slow
    return model


def free_url() -> str:
    """The URL of a port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}/v1"


def chat(model: OpenAIModel, request: ChatRequest = HELLO) -> Completion:
    async def once() -> Completion:
        try:
            return await model.complete(request)
        finally:
            await model.close()

    return asyncio.run(once())


def decide(model: OpenAIModel, request: DecisionRequest) -> Decision:
    async def once() -> Decision:
        try:
            return await model.decide(request)
        finally:
            await model.close()

    return asyncio.run(once())


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


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"status": 408}, "request timeout"),
        ({"status": 409}, "conflict"),
        ({"status": 429}, "too many requests"),
        ({"status": 500}, "server error"),
        ({"status": 502, "raw": "<html>Bad gateway</html>"}, "an error page that is not JSON"),
        ({"status": 503}, "unavailable"),
        ({"status": 529}, "overloaded"),
        ({"drop": True}, "a dropped connection"),
        ({"raw": "this is not JSON"}, "an unreadable body"),
        ({"raw": '{"choices": [{"message": {"content": "cut'}, "a body cut short"),
        ({"raw": "[]"}, "a body that is no object"),
        ({"body": {"choices": []}}, "no choices"),
        ({"body": {"choices": [{"message": "text"}]}}, "a message that is no object"),
        ({"body": {"error": {"message": "upstream failed"}}}, "an error sent with status 200"),
    ],
)
def test_what_may_pass_is_retried(server: OpenAIServer, fault: dict[str, Any], reason: str) -> None:
    server.add_faults([fault])
    answer = chat(open_at(server.url))
    assert answer.text.startswith("Answer "), reason
    assert server.stats()["total"] == 2, reason


def test_a_timeout_is_retried(server: OpenAIServer) -> None:
    server.add_faults([{"hang": 1.0}])
    assert chat(open_at(server.url, timeout=0.2)).text.startswith("Answer ")
    assert server.stats()["total"] == 2


def test_retry_after_is_honoured(server: OpenAIServer) -> None:
    server.add_faults([{"status": 429, "headers": {"Retry-After": "0.4"}}])
    started = time.monotonic()
    chat(open_at(server.url))
    assert time.monotonic() - started >= 0.4


def test_a_wait_beyond_the_deadline_is_not_slept_through(server: OpenAIServer) -> None:
    server.add_faults([{"status": 429, "headers": {"Retry-After": "3600"}}])
    with pytest.raises(RequestFailed, match=r"gave up after 1 tries: .* 429"):  # not "no answer within the deadline"
        chat(open_at(server.url))
    assert server.stats()["total"] == 1


def test_retries_are_bounded_and_the_error_never_becomes_an_answer(server: OpenAIServer) -> None:
    server.add_faults([{"status": 500, "body": {"error": {"message": "kaputt"}}}] * 10)
    with pytest.raises(RequestFailed, match="gave up after 3 tries") as caught:
        chat(open_at(server.url))
    assert "kaputt" in str(caught.value)
    assert server.stats()["total"] == 3


@pytest.mark.parametrize(
    ("url", "cause", "reason"),
    [
        (free_url(), "Connect call failed", "refused"),
        ("http://no-such-host.invalid/v1", "Cannot connect to host no-such-host.invalid", "unknown host"),
    ],
)
def test_a_server_that_was_never_there_stops_the_run(url: str, cause: str, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        chat(open_at(url))
    for part in ("openai:test-model", url, "OPENAI_BASE_URL", cause, "gave up after 3 tries"):
        assert part in str(caught.value), reason
    assert "timed out" not in str(caught.value), reason


def test_a_wrong_url_shows_before_all_tries_are_used_up() -> None:
    patient = RetryPolicy(attempts=100, first_wait=0.001, longest_wait=0.01, deadline=30.0)
    with pytest.raises(UserError, match="gave up after 6 tries"):
        chat(open_at(free_url(), patient))


@pytest.mark.parametrize("fault", [{"drop": True}, {"hang": 1.0}])
def test_a_server_that_has_answered_may_fail_one_request(fault: dict[str, Any]) -> None:
    async def twice(model: OpenAIModel, running: OpenAIServer) -> Completion:
        try:
            await model.complete(HELLO)
            running.add_faults([fault] * 10)
            return await model.complete(HELLO)
        finally:
            await model.close()

    with OpenAIServer() as running, pytest.raises(RequestFailed, match="gave up after 3 tries"):
        asyncio.run(twice(open_at(running.url, timeout=0.2), running))


def test_a_server_that_goes_away_later_fails_one_request() -> None:
    async def twice(running: OpenAIServer) -> None:
        with running:
            model = open_at(running.url)
            await model.complete(HELLO)
        try:
            await model.complete(HELLO)
        finally:
            await model.close()

    with pytest.raises(RequestFailed, match="gave up after 3 tries"):
        asyncio.run(twice(OpenAIServer()))


def test_a_slow_server_is_no_absent_one(server: OpenAIServer) -> None:
    server.add_faults([{"hang": 1.0}] * 10)
    with pytest.raises(RequestFailed, match="Timeout on reading"):
        chat(open_at(server.url, timeout=0.1))


def test_a_hanging_call_ends_at_the_deadline(server: OpenAIServer) -> None:
    server.add_faults([{"hang": 3.0}] * 9)
    with pytest.raises(RequestFailed, match=r"no answer within the deadline of 0\.3 s"):
        chat(open_at(server.url, RetryPolicy(deadline=0.3)))
    assert server.stats()["total"] <= 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 422])
def test_what_will_not_pass_stops_at_once(server: OpenAIServer, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    server.add_faults([{"status": status, "body": {"error": {"message": "no\nway"}}}])
    with pytest.raises(UserError) as caught:
        chat(open_at(server.url, api_key_env="MY_KEY"))
    message = str(caught.value)
    for part in ("openai:test-model", server.url, str(status), "MY_KEY", "no way"):
        assert part in message
    assert "secret" not in message
    assert "\n" not in message
    assert server.stats()["total"] == 1


@pytest.mark.parametrize(
    ("status", "body", "words", "reason"),
    [
        (
            400,
            {"error": {"message": "too much", "type": "x", "code": "context_length_exceeded"}},
            "fit the window: too much",
            "by its code",
        ),
        (
            400,
            {"error": {"message": "too much", "type": "exceed_context_size_error", "code": 400}},
            "fit the window",
            "by its type, beside a code that is a number",
        ),
        (400, {"message": "maximum context length is 9", "code": 400}, "fit the window", "an error not wrapped"),
        (422, {"error": "`inputs` must have less than 9 tokens", "error_type": "validation"}, "window", "a bare text"),
        (413, {}, "fit the window", "nothing but a status"),
        (400, {"error": {"message": "policy", "code": "content_filter"}}, "filter refused the prompt", "a filter"),
    ],
)
def test_a_prompt_the_server_cannot_take_fails_alone(
    server: OpenAIServer, status: int, body: Any, words: str, reason: str
) -> None:
    server.add_faults([{"status": status, "body": body}] * 2)
    with pytest.raises(RequestFailed, match=words):
        chat(open_at(server.url))
    with pytest.raises(RequestFailed, match=words):
        chat(open_at(server.url), WITH_SCHEMA)
    assert server.stats()["total"] == 2, reason


@pytest.mark.parametrize(
    ("error", "options", "remedy", "reason"),
    [
        (
            {
                "message": "Unsupported parameter: 'temperature'",
                "code": "unsupported_parameter",
                "param": "temperature",
            },
            {},
            "--model-arg/--judge-arg omit=temperature",
            "what reasoning models say",
        ),
        ({"message": "Unknown parameter: 'top_p'"}, {"omit": "temperature"}, "omit=temperature,top_p", "a second one"),
    ],
)
def test_a_refused_parameter_shows_how_to_leave_it_out(
    server: OpenAIServer, error: dict[str, Any], options: dict[str, Any], remedy: str, reason: str
) -> None:
    server.add_faults([{"status": 400, "body": {"error": error}}] * 2)
    for request in (HELLO, WITH_SCHEMA):  # the schema is not to blame
        with pytest.raises(UserError) as caught:
            chat(open_at(server.url, **options), request)
        assert str(caught.value).endswith(remedy), reason


@pytest.mark.parametrize(
    ("status", "text", "reason"),
    [
        (400, "response_format json_schema is not supported", "named"),
        (400, "structured outputs is not supported by this model", "other words"),
        (422, "grammar too complex", "a server that cannot build it"),
        (400, "no", "anything: asking again without it will show"),
    ],
)
def test_a_refused_schema_is_told_apart(server: OpenAIServer, status: int, text: str, reason: str) -> None:
    fault = {"status": status, "body": {"error": {"message": text}}}
    server.add_faults([fault])
    with pytest.raises(SchemaRefused, match=text):
        chat(open_at(server.url), WITH_SCHEMA)
    server.add_faults([fault])
    with pytest.raises(UserError, match=text):
        chat(open_at(server.url))
    assert server.stats()["total"] == 2, reason


def test_a_schema_reaches_the_server(server: OpenAIServer) -> None:
    answer = chat(open_at(server.url), ChatRequest(HELLO.messages, schema=schema(1, ["PASS", "FAIL"], False)))
    assert server.stats()["bodies"][0]["response_format"]["json_schema"]["strict"] is True
    assert answer.text in ('{"criteria_1": "PASS"}', '{"criteria_1": "FAIL"}')


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
        (None, Usage(0, 0, 0, 1), "null"),
        ({}, Usage(0, 0, 0, 1), "empty"),
        ("many", Usage(0, 0, 0, 1), "no object"),
        ({"prompt_tokens": 3, "completion_tokens": 2}, Usage(3, 2, 0, 1), "no details"),
        ({"prompt_tokens": 3, "completion_tokens": None}, Usage(3, 0, 0, 1), "a null count"),
        ({"prompt_tokens": "3", "completion_tokens": 2}, Usage(0, 2, 0, 1), "a count as text"),
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


def test_what_shapes_the_answers_is_part_of_the_identity() -> None:
    plain = open_at("http://127.0.0.1:9/v1")
    assert plain.identity == open_at("http://127.0.0.1:10/v1", timeout=3.0).identity, "where it runs shapes nothing"
    one, other = (open_at("http://127.0.0.1:9/v1", omit=omit) for omit in ("top_p,temperature", " top_p, temperature"))
    assert one.identity == other.identity, "blanks shape nothing"
    assert plain.identity != open_at("http://127.0.0.1:9/v1", chat_template_kwargs={"enable_thinking": False}).identity


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


@pytest.mark.parametrize(("kind", "answers"), [("systemone", [1]), ("decisions", {"criteria_1": 1})])
def test_decisions_of_another_shape_are_unreadable(server: OpenAIServer, kind: str, answers: Any) -> None:
    server.add_faults([{"body": {"answers": answers}}])
    decision = decide(open_at(server.url, decisions=kind), DecisionRequest("s", ("q",)))
    assert decision.probabilities == (pytest.approx(probability("s", "q")),)
    assert server.stats()["total"] == 2


def test_text_with_half_an_emoji_fails_alone_and_at_once(server: OpenAIServer) -> None:
    with pytest.raises(RequestFailed, match=r"^the prompt holds a character"):  # not "gave up after"
        chat(open_at(server.url), ChatRequest((Message("user", "half \ud83d"),)))
