"""A server that is not there, away, busy or slow: what is asked again, and what stops the run."""

from __future__ import annotations

import asyncio
import json
import logging
import resource
import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from tests.support import loopback
from tests.support.openai_client import HELLO, NOBODY, chat, open_at
from tests.support.openai_server import OpenAIServer
from tests.support.runs import ROOT
from truebench_hf.engine.retry import RequestFailed, RetryPolicy
from truebench_hf.errors import UserError
from truebench_hf.models import openai_model
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.protocol import Completion
from truebench_hf.text.redaction import MARK


@pytest.mark.parametrize(
    ("base", "custom", "authorization"),
    [
        ("", "", "Bearer sk-of-the-test"),
        ("?version=2", "X-Team: rivers", "Bearer sk-of-the-test"),
        ("", "authorization: Token 7\ncontent-type: application/x", "Token 7"),  # another case is the same header
        ("", "OpenAI-Project: p\nX-A: 1\nx-a: 2\nuser-agent: me", "Bearer sk-of-the-test"),
    ],
)
def test_a_call_goes_out_as_the_sdk_itself_would_send_it(
    base: str, custom: str, authorization: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openai import AsyncOpenAI, DefaultAioHttpClient

    for name, value in (
        ("OPENAI_ORG_ID", "org-1"),
        ("OPENAI_PROJECT_ID", "proj-1"),
        ("OPENAI_API_KEY", "sk-of-the-test"),
        ("OPENAI_CUSTOM_HEADERS", custom),
    ):
        monkeypatch.setenv(name, value)
    seen: list[tuple[str, list[tuple[str, str]], bytes]] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        content = await request.content.read()
        seen.append((request.path_qs, [(name.lower(), text) for name, text in request.headers.items()], content))
        return web.json_response({"choices": [{"message": {"content": "Elbe ✓"}}]})

    async def theirs(url: str) -> None:
        async with AsyncOpenAI(base_url=url, max_retries=0, http_client=DefaultAioHttpClient()) as client:
            await client.post(f"/chat/completions{base}", cast_to=object, body=json.loads(seen[0][2]))

    with loopback.serving(handle) as port:
        url = f"http://{loopback.HOST}:{port}/v1"
        assert chat(open_at(url + base)).text == "Elbe ✓"
        asyncio.run(theirs(url))
    (ours, sent, body), (path, headers, content) = seen
    assert (ours, json.loads(body)) == (path, json.loads(content))
    # Counts of the SDK's own tries, of which there are none, and what depends on its way of writing the body.
    apart = {"x-stainless-retry-count", "x-stainless-read-timeout", "content-length"}
    assert {header for header in {*sent} ^ {*headers} if header[0] not in apart} == set()
    assert [text for name, text in sent if name == "authorization"] == [authorization]


def test_a_server_gets_its_cookies_back() -> None:
    """By them a balancer sends all calls to the server whose cache has the prompt."""
    cookies: list[str | None] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        cookies.append(request.headers.get("Cookie"))
        answer = web.json_response({"choices": [{"message": {"content": "Elbe"}}]})
        answer.set_cookie("backend", "b7")
        return answer

    async def twice(model: OpenAIModel) -> None:
        await model.complete(HELLO)
        await model.complete(HELLO)
        await model.close()

    with loopback.serving(handle) as port:
        asyncio.run(twice(open_at(f"http://{loopback.HOST}:{port}/v1")))
    assert cookies == [None, "backend=b7"]


def test_the_key_is_the_one_there_was_when_the_model_was_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """That one has been checked, and is masked; another one in the environment later on would be neither."""
    keys: list[str | None] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        keys.append(request.headers.get("Authorization"))
        return web.json_response({"choices": [{"message": {"content": "Elbe"}}]})

    with loopback.serving(handle) as port:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-when-opened-0123")
        model = open_at(f"http://{loopback.HOST}:{port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "sk-afterwards-0123")
        chat(model)
    assert keys == ["Bearer sk-when-opened-0123"]


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


def test_what_the_http_library_logs_holds_no_key(server: OpenAIServer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        chat(open_at(f"{server.url}?tenant=7&api_key=k3y-in-the-query"))
    assert f"?tenant=7&api_key={MARK}" in caplog.text
    assert "k3y-in-the-query" not in caplog.text


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


@pytest.mark.parametrize(("fault", "message"), [({"drop": True}, ""), ({"hang": 30.0}, ".*Timeout on reading")])
def test_a_server_that_has_answered_may_fail_one_request(fault: dict[str, Any], message: str) -> None:
    async def twice(model: OpenAIModel, running: OpenAIServer) -> Completion:
        try:
            await model.complete(HELLO)
            running.reset()
            running.add_faults([fault] * 10)
            return await model.complete(HELLO)
        finally:
            await model.close()

    with OpenAIServer() as running, pytest.raises(RequestFailed, match=f"gave up after 2 tries{message}"):
        asyncio.run(twice(open_at(running.url, SHORT, timeout=0.6), running))
    assert running.stats()["total"] == 2


def test_as_many_connections_as_calls() -> None:
    async def many(url: str) -> None:
        model = open_at(url)
        try:
            await asyncio.gather(*(model.complete(replace(HELLO, sample=i)) for i in range(150)))
        finally:
            await model.close()

    with OpenAIServer(delay=1.0) as running:
        asyncio.run(many(running.url))
        assert running.stats()["max_in_flight"] > 100, "a hundred is what aiohttp takes by itself"


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"status": 429}, "too many requests"),
        ({"status": 500}, "server error"),
        ({"status": 502, "raw": "<html>Bad gateway</html>"}, "an error page that is not JSON"),
        ({"status": 529}, "overloaded"),
        ({"body": {"choices": []}}, "no choices"),
        ({"body": {"choices": [{"message": "text"}]}}, "a message that is no object"),
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


def test_a_wait_beyond_the_deadline_is_not_slept_through(server: OpenAIServer) -> None:
    server.add_faults([{"status": 429, "headers": {"Retry-After": "3600"}}])
    with pytest.raises(RequestFailed, match=r"gave up after 1 tries: .* 429"):  # not "no answer within the deadline"
        chat(open_at(server.url))
    assert server.stats()["total"] == 1


def test_where_no_more_files_may_be_open_that_is_what_is_told(server: OpenAIServer) -> None:
    async def ask() -> None:
        model, (soft, hard) = open_at(server.url), resource.getrlimit(resource.RLIMIT_NOFILE)
        assert model._headers, "made with the client, as for the first call"
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
        try:
            await model.complete(HELLO)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            await model.close()

    with pytest.raises(
        RequestFailed, match=r"gave up after 3 tries: .*; allow more open files \(ulimit -n\), or fewer"
    ):
        asyncio.run(ask())


_CROWDED = """
import asyncio, resource, sys
from dataclasses import replace
from tests.support.openai_client import FAST, HELLO, open_at
from truebench_hf.engine.retry import RequestFailed, RetryPolicy

async def none_left(model):
    model._headers  # made with the client, as for the first call
    files = []
    try:
        while True:
            files.append(open("/dev/null"))
    except OSError:
        pass
    try:
        await model.complete(HELLO)
    except RequestFailed as error:
        print(error)
    [file.close() for file in files]

async def all_at_once(model):
    print(len(await asyncio.gather(*(model.complete(replace(HELLO, sample=i)) for i in range(200)))))

async def both():
    for work, path, policy in ((all_at_once, "", RetryPolicy()), (none_left, "/which/has/never/answered", FAST)):
        model = open_at(sys.argv[1] + path, policy)
        try:
            await work(model)
        finally:
            await model.close()

resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
asyncio.run(both())
"""


@pytest.mark.slow
def test_where_too_many_files_are_open_a_call_is_tried_again(server: OpenAIServer) -> None:
    """Nothing can be loaded then. That is soon over where only the calls themselves have them open, and never the
    fault of the server, of which nothing is known yet."""
    command = [sys.executable, "-c", _CROWDED, server.url]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stderr[-500:] == ""
    answered, told = done.stdout.splitlines()
    assert answered == "200"
    assert told.startswith("gave up after 3 tries: ")
    assert told.endswith("; allow more open files (ulimit -n), or fewer calls at a time")


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


def test_a_timeout_is_retried(server: OpenAIServer) -> None:
    server.add_faults([{"hang": 30.0}])
    assert chat(open_at(server.url, timeout=1.0)).text.startswith("Answer ")
    assert server.stats()["total"] == 2
