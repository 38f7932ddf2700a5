"""What an error answer means, in the words of many servers: for the run, one prompt, the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.openai_client import WITH_SCHEMA, chat, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed, TryAgain
from truebench_hf.errors import UserError
from truebench_hf.models.openai_options import Server
from truebench_hf.models.openai_reading import Call, meaning, retry_after, status_error
from truebench_hf.models.protocol import ChatRequest, SchemaRefused
from truebench_hf.types import Message


def outcome(status: int, body: object, *, answered: bool = False, schema: bool = False) -> Exception:
    """What an error answer is raised as; `answered` says whether the same path has answered before."""
    import httpx2

    request = httpx2.Request("POST", "http://a/v1/chat/completions")
    error = status_error(httpx2.Response(status, request=request), json.dumps(body).encode())
    call = Call(Server("http://a/v1", spec="openai:m"), "/chat/completions", schema, answered, answered)
    return meaning(error, call)


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (500, "the request exceeds the available context size", "older llama.cpp"),
        (413, "Request Entity Too Large", "a proxy's limit on the size of a request"),
        (400, "This model's maximum context length is 8192 tokens. You requested 9000", "OpenAI"),
        (400, "Input tokens exceed the configured limit of 272000 tokens.", "OpenAI, newer"),
        (400, "Your input exceeds the context window of this model.", "OpenAI, newer"),
        (400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", "vLLM"),
        (400, "However, the model's context length is only 8192 tokens, resulting in 0 for an answer", "vLLM, newer"),
        (400, "the request exceeds the available context size, try increasing it", "llama.cpp"),
        (400, "Requested tokens (9000) exceed context window of 8192", "llama-cpp-python"),
        (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000", "TGI"),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2000 and 100", "TGI, with the answer"),
        (400, "The input (9000 tokens) is longer than the model's context length (8192 tokens).", "SGLang"),
        (400, "prompt is too long: 200251 tokens > 200000 maximum", "Anthropic"),
        (
            400,
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "Anthropic, with the answer",
        ),
        (400, "Input is too long for requested model.", "Bedrock"),
        (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", "Mistral"),
        (400, "The input token count (1200000) exceeds the maximum number of tokens", "Gemini"),
        (400, "This model's maximum prompt length is 131072 but the request has more", "xAI"),
        (400, "Please reduce the length of the messages or completion.", "Groq, Cerebras"),
        (400, "Prompt exceeds max length", "Zhipu"),
    ],
)
def test_a_prompt_too_long(status: int, message: str, reason: str) -> None:
    error = outcome(status, {"error": {"message": message}})
    assert isinstance(error, RequestFailed), reason
    assert "does not fit the window" in str(error), reason


@pytest.mark.parametrize(
    ("status", "message", "kind", "reason"),
    [
        (400, "Unknown field 'context' (maximum one is allowed)", UserError, "words that only look alike"),
        (400, "Unknown parameter: 'context_length'", UserError, "a parameter's name"),
        (400, "max_tokens is too large: 100000. It supports at most 16384", UserError, "the user's option"),
        (429, "input tokens exceed the limit per minute", TryAgain, "a rate limit passes"),
        (401, "maximum context length", UserError, "not what 401 is about"),
        (400, "content_filter is unknown", UserError, "words about the filter"),
        (429, "Rate limit reached for requests", TryAgain, "a rate limit"),
        (429, "You exceeded your current quota, please retry in 7 s", TryAgain, "Gemini's limit per minute"),
        (500, "insufficient funds of entropy", TryAgain, "not what 500 is about"),
    ],
)
def test_words_that_mean_something_else(status: int, message: str, kind: type[Exception], reason: str) -> None:
    assert type(outcome(status, {"error": {"message": message}})) is kind, reason


@pytest.mark.parametrize(
    ("status", "error", "reason"),
    [
        (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, "OpenAI"),
        (402, {"message": "Payment Required"}, "what the status is there for"),
        (400, {"message": "Your credit balance is too low to access the API."}, "Anthropic"),
        (400, {"message": "Access denied", "code": "Arrearage"}, "Alibaba"),
        (429, {"message": "balance", "type": "exceeded_current_quota_error"}, "Moonshot"),
    ],
)
def test_an_account_that_is_used_up_stops_the_run(status: int, error: dict[str, str], reason: str) -> None:
    stopped = outcome(status, {"error": error}, answered=True)
    assert isinstance(stopped, UserError), reason
    assert "top up the account; the same command goes on" in str(stopped), reason


@pytest.mark.parametrize(
    ("status", "kind", "reason"),
    [
        (429, "busy", "a limit"),
        (502, "gone", "a gateway without a server behind it"),
        (401, "gone", "a key that was right is taken away"),
        (404, "gone", "a model that was there is being loaded anew"),
        (500, "fault", "anything"),
        (408, "fault", "a timeout"),
    ],
)
def test_where_a_path_has_answered_before_an_error_passes(status: int, kind: str, reason: str) -> None:
    error = outcome(status, {"error": "no"}, answered=True)
    assert isinstance(error, TryAgain), reason
    assert error.kind == kind, reason


@pytest.mark.parametrize("status", [400, 405, 422, 501])
def test_where_a_path_has_answered_before_an_unknown_refusal_costs_one_request(status: int) -> None:
    error = outcome(status, {"error": "assistant messages must not be empty"}, answered=True)
    assert isinstance(error, RequestFailed)
    assert isinstance(outcome(status, {}, answered=True, schema=True), SchemaRefused) is (status != 405)


@pytest.mark.parametrize(
    ("value", "seconds", "reason"),
    [
        ("7", 7.0, "a number"),
        ("-3", 0.0, "no time at all"),
        ("nan", None, "no number"),
        ("inf", None, "nobody waits for ever"),
        ("1e9", None, "nor for thirty years"),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0, "a date gone by"),
        ("Mon, 01 Jan 2024 00:00:00 +99999999999999999999", None, "a zone beyond any number"),
        ("Wed, 21 Oct 99999999999999999999999 07:28:00 GMT", None, "a year beyond any"),
        ("soon", None, "a word"),
    ],
)
def test_retry_after_is_believed_within_reason(value: str, seconds: float | None, reason: str) -> None:
    assert retry_after({"retry-after": value}) == seconds, reason


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


def test_a_refused_parameter_shows_how_to_leave_it_out(server: OpenAIServer) -> None:
    server.add_faults([{"status": 400, "body": {"error": {"message": "Unsupported parameter: 'temperature'"}}}])
    with pytest.raises(UserError, match=r"'temperature'; .* --model-arg/--judge-arg omit=NAME,NAME"):
        chat(open_at(server.url))


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


def test_text_with_half_an_emoji_fails_alone_and_at_once(server: OpenAIServer) -> None:
    with pytest.raises(RequestFailed, match=r"^the prompt holds a character"):  # not "gave up after"
        chat(open_at(server.url), ChatRequest((Message("user", "half \ud83d"),)))
