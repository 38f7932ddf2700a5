"""What an error answer means, in the words of many servers (`errors.yaml`): for the run, one prompt, the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.openai_client import HELLO, WITH_SCHEMA, chat, open_at
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


RAISED: dict[str, tuple[type[Exception], str]] = {
    "window": (RequestFailed, "does not fit the window"),
    "user": (UserError, "check the model name, --model-base-url/--judge-base-url (most servers want /v1 at the end)"),
    "redirect": (UserError, "which is not followed"),
    "credit": (ServerUnavailable, "top up the account; the same command goes on"),
}


@each_row(__file__, "errors", "errors")
def test_what_an_error_is_raised_as(status: int, error: Any, expected: str, answered: bool | None) -> None:
    body = {"error": error if isinstance(error, dict) else {"message": error}}
    raised = outcome(status, body, answered=bool(answered))
    kind, words = RAISED.get(expected, (TryAgain, ""))
    assert (type(raised), getattr(raised, "kind", expected)) == (kind, expected)
    assert words in str(raised)


@pytest.mark.parametrize("status", [400, 405, 422, 501])
def test_where_a_path_has_answered_before_an_unknown_refusal_costs_one_request(status: int) -> None:
    error = outcome(status, {"error": "assistant messages must not be empty"}, answered=True)
    assert isinstance(error, RequestFailed)
    assert isinstance(outcome(status, {}, answered=True, schema=True), SchemaRefused) is (status != 405)


@each_row(__file__, "errors", "retry_after")
def test_retry_after_is_believed_within_reason(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 422])
def test_what_will_not_pass_stops_at_once(server: OpenAIServer, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    server.add_faults([{"status": status, "body": {"error": {"message": "no\nway"}}}])
    with pytest.raises(UserError) as caught:
        chat(open_at(server.url, api_key_env="MY_KEY"))
    message = str(caught.value)
    for part in ("openai:test-model", server.url, str(status), "MY_KEY", "no way", "--judge-arg omit=NAME,NAME"):
        assert part in message
    assert "secret" not in message
    assert "\n" not in message
    assert server.stats()["total"] == 1


@each_row(__file__, "errors", "alone")
def test_a_prompt_the_server_cannot_take_fails_alone(server: OpenAIServer, status: int, body: Any, words: str) -> None:
    server.add_faults([{"status": status, "body": body}] * 2)
    for request in (HELLO, WITH_SCHEMA):
        with pytest.raises(RequestFailed, match=words):
            chat(open_at(server.url), request)
    assert server.stats()["total"] == 2


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_schema_is_told_apart(server: OpenAIServer, status: int) -> None:
    """Whatever the words: asking again without it will show."""
    server.add_faults([{"status": status, "body": {"error": {"message": "grammar too complex"}}}] * 2)
    with pytest.raises(SchemaRefused, match="grammar too complex"):
        chat(open_at(server.url), WITH_SCHEMA)
    with pytest.raises(UserError, match="grammar too complex"):
        chat(open_at(server.url))
    assert server.stats()["total"] == 2


def test_text_with_half_an_emoji_fails_alone_and_at_once(server: OpenAIServer) -> None:
    with pytest.raises(RequestFailed, match=r"^the prompt holds a character"):  # not "gave up after"
        chat(open_at(server.url), ChatRequest((Message("user", "half \ud83d"),)))
