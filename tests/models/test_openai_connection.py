"""A server that is not there, away, busy or slow: what is asked again, and what stops the run."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.openai_client import HELLO, NOBODY, chat, once, open_at
from tests.support.openai_server import OpenAIServer
from truebench_hf.engine.retry import RequestFailed, RetryPolicy
from truebench_hf.errors import UserError
from truebench_hf.models import openai_model
from truebench_hf.models.openai_model import OpenAIModel


@pytest.mark.parametrize(
    ("variable", "value", "cause"),
    [
        ("SSL_CERT_FILE", "/nowhere/ca.pem", "No such file"),
        ("HTTP_PROXY", "ftp://proxy", "Unknown scheme for proxy"),
        ("HTTP_PROXY", "http://[::1", "Invalid port"),
        ("OPENAI_ORG_ID", "Übersetzung", "ordinal not in range"),
    ],
)
def test_what_keeps_every_call_from_being_sent_stops_the_run_in_one_line(
    variable: str, value: str, cause: str, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    openai_model._certificates.cache_clear()
    monkeypatch.setenv(variable, value)
    with pytest.raises(UserError, match=rf"openai:test-model: no client can be made .*{cause}.*check the base URL"):
        chat(open_at(server.url))
    assert server.stats()["total"] == 0


@pytest.mark.parametrize(
    ("url", "cause", "reason"),
    [
        (NOBODY, "Connect call failed", "refused"),
        ("http://no-such-host.invalid/v1", "Cannot connect to host no-such-host.invalid", "unknown host"),
    ],
)
def test_a_server_that_was_never_there_stops_the_run(url: str, cause: str, reason: str) -> None:
    with pytest.raises(UserError) as caught:
        chat(open_at(url))
    for part in ("openai:test-model", url, "OPENAI_BASE_URL", cause, "gave up after 3 tries"):
        assert part in str(caught.value), reason
    assert "timed out" not in str(caught.value), reason


def test_a_gateway_whose_server_is_away_from_the_start_fails_its_requests(server: OpenAIServer) -> None:
    """The address is right, then: others may find the server back."""
    server.add_faults([{"status": 502}] * 10)
    with pytest.raises(RequestFailed, match=r"gave up after 3 tries: .* answered 502"):
        chat(open_at(server.url))


SHORT = RetryPolicy(attempts=2, first_wait=0.001, longest_wait=0.01, deadline=3.0)


@pytest.mark.parametrize(
    ("happens", "message"),
    [
        (lambda server: server.add_faults([{"drop": True}] * 2), ""),
        (lambda server: server.add_faults([{"hang": 30.0}] * 2), ".*Timeout on reading"),
        (lambda server: server.__exit__(), ""),  # gone
    ],
)
def test_a_server_that_has_answered_may_fail_one_request(happens: Callable[[OpenAIServer], None], message: str) -> None:
    async def twice(model: OpenAIModel) -> None:
        await model.complete(HELLO)
        happens(server)
        await model.complete(HELLO)

    with OpenAIServer() as server, pytest.raises(RequestFailed, match=f"gave up after 2 tries{message}"):
        once(model := open_at(server.url, SHORT, timeout=0.6), twice(model))


def test_as_many_connections_as_calls() -> None:
    async def many(model: OpenAIModel) -> None:
        await asyncio.gather(*(model.complete(replace(HELLO, sample=i)) for i in range(150)))

    with OpenAIServer(delay=1.0) as running:
        once(model := open_at(running.url), many(model))
        assert running.stats()["max_in_flight"] > 100, "a hundred is what aiohttp takes by itself"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"status": 429}, "too many requests"),
        ({"status": 500}, "server error"),
        ({"status": 502, "raw": "<html>Bad gateway</html>"}, "an error page that is not JSON"),
        ({"status": 529}, "overloaded"),
        ({"hang": 30.0}, "a timeout"),
    ],
)
def test_what_may_pass_is_retried(server: OpenAIServer, fault: dict[str, Any], reason: str) -> None:
    server.add_faults([fault])
    answer = chat(open_at(server.url, timeout=1.0))
    assert answer.text.startswith("Answer "), reason
    assert server.stats()["total"] == 2, reason


def test_a_wait_beyond_the_deadline_is_not_slept_through(server: OpenAIServer) -> None:
    server.add_faults([{"status": 429, "headers": {"Retry-After": "3600"}}])
    with pytest.raises(RequestFailed, match=r"gave up after 1 tries: .* 429"):  # not "no answer within the deadline"
        chat(open_at(server.url))
    assert server.stats()["total"] == 1


def test_where_no_more_files_may_be_open_that_is_what_is_told(server: OpenAIServer) -> None:
    async def ask(model: OpenAIModel) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        assert model._headers, "made with the client, as for the first call"
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            await model.complete(HELLO)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    told = r"gave up after 3 tries: .*; allow more open files \(ulimit -n\), or fewer"
    with pytest.raises(RequestFailed, match=told):
        once(model := open_at(server.url), ask(model))
