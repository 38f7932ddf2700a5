"""What an error answer is about, in the words of many servers, and what it means: for the run, one prompt, the schema."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.openai_client import HELLO, WITH_SCHEMA, chat, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.openai_errors import ServerError, retry_after
from truebench_hf.models.protocol import ChatRequest, SchemaRefused
from truebench_hf.types import Message


@pytest.mark.parametrize(
    ("error", "expected", "reason"),
    [
        (ServerError(400, "no", code="context_length_exceeded"), True, "OpenAI's code"),
        (ServerError(400, "no", kind="exceed_context_size_error"), True, "llama.cpp's type"),
        (ServerError(400, "no", code="string_above_max_length"), True, "OpenAI's code for a text of megabytes"),
        (ServerError(500, "the request exceeds the available context size"), True, "older llama.cpp"),
        (ServerError(413, "Request Entity Too Large"), True, "a proxy's limit on the size of a request"),
        (ServerError(400, "This model's maximum context length is 8192 tokens. You requested 9000"), True, "OpenAI"),
        (ServerError(400, "Input tokens exceed the configured limit of 272000 tokens."), True, "OpenAI, newer"),
        (ServerError(400, "Your input exceeds the context window of this model."), True, "OpenAI, newer"),
        (
            ServerError(400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192."),
            True,
            "vLLM",
        ),
        (
            ServerError(400, "However, the model's context length is only 8192 tokens, resulting in 0 for an answer"),
            True,
            "vLLM, newer",
        ),
        (ServerError(400, "the request exceeds the available context size, try increasing it"), True, "llama.cpp"),
        (ServerError(400, "Requested tokens (9000) exceed context window of 8192"), True, "llama-cpp-python"),
        (
            ServerError(422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000"),
            True,
            "TGI",
        ),
        (
            ServerError(422, "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2000 and 100"),
            True,
            "TGI, with the answer",
        ),
        (
            ServerError(400, "The input (9000 tokens) is longer than the model's context length (8192 tokens)."),
            True,
            "SGLang",
        ),
        (ServerError(400, "prompt is too long: 200251 tokens > 200000 maximum"), True, "Anthropic"),
        (
            ServerError(400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"),
            True,
            "Anthropic, with the answer",
        ),
        (ServerError(400, "Input is too long for requested model."), True, "Bedrock"),
        (
            ServerError(400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"),
            True,
            "Mistral",
        ),
        (ServerError(400, "The input token count (1200000) exceeds the maximum number of tokens"), True, "Gemini"),
        (ServerError(400, "This model's maximum prompt length is 131072 but the request has more"), True, "xAI"),
        (ServerError(400, "Please reduce the length of the messages or completion."), True, "Groq, Cerebras"),
        (ServerError(400, "Prompt exceeds max length"), True, "Zhipu"),
        (ServerError(400, "Unknown field 'context' (maximum one is allowed)"), False, "words that only look alike"),
        (ServerError(400, "Unknown parameter: 'context_length'"), False, "a parameter's name"),
        (ServerError(400, "max_tokens is too large: 100000. It supports at most 16384"), False, "the user's option"),
        (ServerError(429, "input tokens exceed the limit per minute"), False, "a rate limit passes"),
        (ServerError(401, "maximum context length"), False, "not what 401 is about"),
    ],
)
def test_a_prompt_too_long(error: ServerError, expected: bool, reason: str) -> None:
    assert error.too_long is expected, reason


@pytest.mark.parametrize(
    ("error", "expected", "reason"),
    [
        (ServerError(400, "no", "unsupported_parameter", param="temperature"), "temperature", "code and param"),
        (ServerError(400, "no", "unsupported_value", param="top_p"), "top_p", "a value counts too: no other will do"),
        (ServerError(400, "Unknown parameter: 'chat_template_kwargs'."), "chat_template_kwargs", "words alone"),
        (ServerError(400, "Unsupported parameter: 'temperature' is not supported."), "temperature", "OpenAI"),
        (
            ServerError(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
            "max_tokens",
            "the first one named is the one refused",
        ),
        (ServerError(400, "Unrecognized request argument supplied: repetition_penalty"), "repetition_penalty", "older"),
        (ServerError(400, "`temperature` and `top_p` cannot both be specified"), "temperature", "one of two"),
        (
            ServerError(422, "[{'loc': ['body', 'top_p'], 'msg': 'Extra inputs are not permitted'}]"),
            "top_p",
            "a validator's list",
        ),
        (ServerError(400, "structured outputs is not supported by this model"), "", "no parameter of ours"),
        (ServerError(400, "temperature must be at most 2"), "", "a value out of range is the user's"),
        (ServerError(400, "Unsupported parameter: 'frequency'", param="frequency"), "", "one that is never sent"),
        (ServerError(404, "unknown model temperature-7b"), "", "not what 404 is about"),
    ],
)
def test_a_parameter_that_is_not_taken(error: ServerError, expected: str, reason: str) -> None:
    assert error.not_taken == expected, reason


@pytest.mark.parametrize(
    ("error", "expected", "reason"),
    [
        (ServerError(400, "policy", code="content_filter"), True, "Azure"),
        (ServerError(400, "flagged", code="invalid_prompt"), True, "OpenAI's reasoning models"),
        (ServerError(400, "content_filter is unknown"), False, "words about the filter"),
    ],
)
def test_a_prompt_refused_by_a_filter(error: ServerError, expected: bool, reason: str) -> None:
    assert error.prompt_refused is expected, reason


@pytest.mark.parametrize(
    ("error", "expected", "reason"),
    [
        (
            ServerError(429, "You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
            True,
            "OpenAI",
        ),
        (ServerError(402, "Payment Required"), True, "what the status is there for"),
        (ServerError(402, "Insufficient Balance"), True, "DeepSeek"),
        (ServerError(400, "Your credit balance is too low to access the API."), True, "Anthropic"),
        (ServerError(400, "Access denied", "Arrearage"), True, "Alibaba"),
        (ServerError(429, "balance", kind="exceeded_current_quota_error"), True, "Moonshot"),
        (ServerError(429, "Rate limit reached for requests", "rate_limit_exceeded", "requests"), False, "a rate limit"),
        (ServerError(429, "You exceeded your current quota, please retry in 7 s"), False, "Gemini's limit per minute"),
        (ServerError(500, "insufficient funds of entropy"), False, "not what 500 is about"),
        (ServerError(401, "insufficient credits"), False, "the key is refused"),
    ],
)
def test_an_account_that_is_used_up(error: ServerError, expected: bool, reason: str) -> None:
    assert error.no_credit is expected, reason


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


def test_text_with_half_an_emoji_fails_alone_and_at_once(server: OpenAIServer) -> None:
    with pytest.raises(RequestFailed, match=r"^the prompt holds a character"):  # not "gave up after"
        chat(open_at(server.url), ChatRequest((Message("user", "half \ud83d"),)))
