"""How answers of servers are read (`served.yaml`), what their errors mean (`errors.yaml`), and typed yes/no questions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.corpus import each_row
from tests.support.openai_answers import probability
from tests.support.openai_client import HELLO, WITH_SCHEMA, chat, decide, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed, ServerUnavailable, TryAgain
from truebench_hf.errors import UserError
from truebench_hf.judging.signed_asking import verdict_schema
from truebench_hf.models.openai_options import Server
from truebench_hf.models.openai_reading import Call, Refusal, completion, meaning, retry_after
from truebench_hf.models.protocol import ChatRequest, DecisionRequest, SchemaRefused
from truebench_hf.types import Message, Usage


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
    assert (made.text.strip("\ufffd "), made.reasoning.strip("\ufffd")) == ("The answer", "hm")
    assert f"{made.text}{made.reasoning}".encode()


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


@pytest.mark.parametrize(
    ("words", "schema", "raised"),
    [
        ("Failed to initialize samplers: failed to parse grammar", True, SchemaRefused),
        ("invalid JSON schema in format", True, SchemaRefused),
        ("failed to parse grammar", False, TryAgain),  # nothing to leave out
        ("out of memory", True, TryAgain),
    ],
)
def test_a_schema_that_breaks_a_server_is_refused(words: str, schema: bool, raised: type[Exception]) -> None:
    assert type(outcome(500, {"error": words}, schema=schema)) is raised


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
