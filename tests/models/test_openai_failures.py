"""What will not pass by itself: what stops the run, what fails one prompt alone, and a schema that is not taken."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.openai_client import HELLO, WITH_SCHEMA, chat, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.protocol import ChatRequest, SchemaRefused
from truebench_hf.types import Message


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
