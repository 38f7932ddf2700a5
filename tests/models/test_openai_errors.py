"""What an error answer means, in the words of many servers: for the run, one prompt, the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.openai_client import WITH_SCHEMA, chat, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed, ServerUnavailable, TryAgain
from truebench_hf.errors import UserError
from truebench_hf.models.openai_options import Server
from truebench_hf.models.openai_reading import Call, Refusal, meaning, retry_after
from truebench_hf.models.protocol import ChatRequest, SchemaRefused
from truebench_hf.types import Message


def outcome(status: int, body: object, *, answered: bool = False, schema: bool = False) -> Exception:
    """What an error answer is raised as; `answered` says whether the same path has answered before."""
    import httpx2

    request = httpx2.Request("POST", "http://a/v1/chat/completions")
    error = Refusal(httpx2.Response(status, request=request), json.dumps(body).encode())
    call = Call(Server("http://a/v1", spec="openai:m"), "/chat/completions", schema, answered, answered)
    return meaning(error, call)


FRESH = [
    (500, "the request exceeds the available context size", "window", "older llama.cpp"),
    (413, "Request Entity Too Large", "window", "a proxy's limit on the size of a request"),
    (400, "This model's maximum context length is 8192 tokens. You requested 9000", "window", "OpenAI"),
    (400, "Input tokens exceed the configured limit of 272000 tokens.", "window", "OpenAI, newer"),
    (400, "Your input exceeds the context window of this model.", "window", "OpenAI, newer"),
    (400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192.", "window", "vLLM"),
    (
        400,
        "However, the model's context length is only 8192 tokens, resulting in 0 for an answer",
        "window",
        "vLLM, newer",
    ),
    (400, "the request exceeds the available context size, try increasing it", "window", "llama.cpp"),
    (400, "Requested tokens (9000) exceed context window of 8192", "window", "llama-cpp-python"),
    (422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000", "window", "TGI"),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2000 and 100", "window", "TGI, with the answer"),
    (400, "The input (9000 tokens) is longer than the model's context length (8192 tokens).", "window", "SGLang"),
    (400, "prompt is too long: 200251 tokens > 200000 maximum", "window", "Anthropic"),
    (400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", "window", "with the answer"),
    (400, "Input is too long for requested model.", "window", "Bedrock"),
    (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", "window", "Mistral"),
    (400, "The input token count (1200000) exceeds the maximum number of tokens", "window", "Gemini"),
    (400, "This model's maximum prompt length is 131072 but the request has more", "window", "xAI"),
    (400, "Please reduce the length of the messages or completion.", "window", "Groq, Cerebras"),
    (400, "Prompt exceeds max length", "window", "Zhipu"),
    # Words that mean something else.
    (400, "Unknown field 'context' (maximum one is allowed)", "user", "they only look alike"),
    (400, "Unknown parameter: 'context_length'", "user", "a parameter's name"),
    (400, "max_tokens is too large: 100000. It supports at most 16384", "user", "the user's option"),
    (429, "input tokens exceed the limit per minute", "busy", "a rate limit passes"),
    (401, "maximum context length", "user", "not what 401 is about"),
    (400, "content_filter is unknown", "user", "words about the filter"),
    (429, "Rate limit reached for requests", "busy", "a rate limit"),
    (429, "You exceeded your current quota, please retry in 7 s", "busy", "Gemini's limit per minute"),
    (500, "insufficient funds of entropy", "fault", "not what 500 is about"),
]
ANSWERED = [
    (429, {"message": "You exceeded your current quota", "code": "insufficient_quota"}, "credit", "OpenAI"),
    (402, "Payment Required", "credit", "what the status is there for"),
    (400, "Your credit balance is too low to access the API.", "credit", "Anthropic"),
    (400, {"message": "Access denied", "code": "Arrearage"}, "credit", "Alibaba"),
    (429, {"message": "balance", "type": "exceeded_current_quota_error"}, "credit", "Moonshot"),
    (429, "no", "busy", "a limit"),
    (502, "no", "gone", "a gateway without a server behind it"),
    (401, "no", "gone", "a key that was right is taken away"),
    (404, "no", "gone", "a model that was there is being loaded anew"),
    (500, "no", "fault", "anything"),
    (408, "no", "fault", "a timeout"),
]
RAISED: dict[str, tuple[type[Exception], str]] = {
    "window": (RequestFailed, "does not fit the window"),
    "user": (UserError, "check the model name"),
    "credit": (ServerUnavailable, "top up the account; the same command goes on"),
}


@pytest.mark.parametrize(
    ("status", "error", "expected", "reason", "answered"),
    [*((*row, False) for row in FRESH), *((*row, True) for row in ANSWERED)],
)
def test_what_an_error_is_raised_as(status: int, error: Any, expected: str, reason: str, answered: bool) -> None:
    raised = outcome(status, {"error": error if isinstance(error, dict) else {"message": error}}, answered=answered)
    kind, words = RAISED.get(expected, (TryAgain, ""))
    assert (type(raised), getattr(raised, "kind", expected)) == (kind, expected), reason
    assert words in str(raised), reason


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
