"""What is asked again, how often and for how long; the error of a call never becomes an answer."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.openai_client import chat, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed, RetryPolicy


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
        ({"body": {"choices": [{}]}}, "a choice without a message"),
        ({"body": {"choices": [{"message": None, "finish_reason": "stop"}]}}, "a message that is null"),
        ({"body": {"error": {"message": "upstream failed"}}}, "an error sent with status 200"),
        (
            {"body": {"error": "upstream failed", "choices": [{"message": {"content": "The Rhi"}}]}},
            "an error beside what a failure has left of an answer",
        ),
    ],
)
def test_what_may_pass_is_retried(server: OpenAIServer, fault: dict[str, Any], reason: str) -> None:
    server.add_faults([fault])
    answer = chat(open_at(server.url))
    assert answer.text.startswith("Answer "), reason
    assert server.stats()["total"] == 2, reason


def test_an_error_that_is_null_is_none(server: OpenAIServer) -> None:
    server.add_faults([{"body": {"error": None, "choices": [{"message": {"content": "Rhine"}}]}}])
    assert chat(open_at(server.url)).text == "Rhine"


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


def test_a_hanging_call_ends_at_the_deadline(server: OpenAIServer) -> None:
    server.add_faults([{"hang": 3.0}] * 9)
    with pytest.raises(RequestFailed, match=r"no answer within the deadline of 0\.3 s"):
        chat(open_at(server.url, RetryPolicy(deadline=0.3)))
    assert server.stats()["total"] <= 1
