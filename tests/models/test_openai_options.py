"""A login and a query in the base URL: sent with each request, as HTTP has it, and shown nowhere."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator

import pytest
from aiohttp import web

from tests.support import loopback
from tests.support.openai_client import HELLO, chat, decide, open_at
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.openai_model import OpenAIModel
from truebench_hf.models.openai_options import OpenAIOptions, server_at
from truebench_hf.models.protocol import DecisionRequest


class Door:
    """A server that notes path, query and authorization of what it is asked, and lets nobody without them in."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, list[str]]] = []
        self.port = 0

    async def handle(self, request: web.BaseRequest) -> web.Response:
        self.asked.append((request.path, request.rel_url.raw_query_string, request.headers.getall("Authorization", [])))
        if request.path.endswith("/systemone"):
            return web.json_response({"answers": {"criteria_1": {"noul": 0.5}}})
        if (await request.json()).get("stream"):
            return web.Response(
                text='data: {"choices": [{"delta": {"content": "Rhine"}}]}\n\ndata: [DONE]\n\n',
                content_type="text/event-stream",
            )
        if "refuse" in request.query_string:
            return web.Response(text=f"who is {request.headers['Authorization']}?", status=401)
        return web.json_response({"choices": [{"message": {"content": "Rhine"}, "finish_reason": "stop"}]})


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[Door]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    made = Door()
    with loopback.serving(made.handle) as made.port:
        yield made


def basic(login: str) -> str:
    return f"Basic {base64.b64encode(login.encode()).decode()}"


@pytest.mark.parametrize(
    ("login", "sent", "reason"),
    [
        ("eva:hush", basic("eva:hush"), "plain"),
        ("e%40x:p%3Aa%2Fs%C3%A9", basic("e@x:p:a/sé"), "percent-encoded"),
        ("eva:p@ss", basic("eva:p@ss"), "an at sign that was not encoded"),
        ("token", basic("token:"), "no password"),
        (":pass", basic(":pass"), "no user"),
    ],
)
@pytest.mark.parametrize("key", ["", "sk-an-api-key-of-some-length"])
def test_a_login_is_sent_alone(
    door: Door, login: str, sent: str, reason: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    model = open_at(f"http://{login}@127.0.0.1:{door.port}/v1/")
    assert chat(model).text == "Rhine"
    assert door.asked == [("/v1/chat/completions", "", [sent])], reason
    assert model.cache_scope == f"http://127.0.0.1:{door.port}/v1"
    for secret in (login, sent):
        assert secret not in repr(model._server)


def test_a_query_goes_with_every_request(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{door.port}/v1?token=a%26b+c&x=1&x=2&empty=#part")
    options = OpenAIOptions()
    for _ in range(2):
        chat(OpenAIModel("m", options))
    decide(OpenAIModel("m", options), DecisionRequest("s", ("q",)))

    async def stream() -> None:
        model = OpenAIModel("m", options)
        async for _ in model.stream(HELLO):
            pass
        await model.close()

    asyncio.run(stream())
    assert {query for _, query, _ in door.asked} == {"token=a%26b+c&x=1&x=2&empty="}
    assert [path for path, _, _ in door.asked] == [
        *["/v1/chat/completions"] * 2,
        "/v1/systemone",
        "/v1/chat/completions",
    ]


@pytest.mark.parametrize("login", ["eva:hush", "e%40x:p%3Aa%2Fs"])
def test_no_error_shows_login_or_query(door: Door, login: str) -> None:
    with pytest.raises(UserError) as caught:
        chat(open_at(f"http://{login}@127.0.0.1:{door.port}/v1?token=quiet&refuse=1"))
    told = str(caught.value)
    assert f"openai:test-model at http://127.0.0.1:{door.port}/v1 answered 401: who is" in told
    for secret in (*login.split(":"), basic("eva:hush")[6:], basic("e@x:p:a/s")[6:], "quiet"):
        assert secret not in told, "the server has said it again"


def test_the_parts_of_an_address() -> None:
    assert server_at("https://api.openai.com/v1/").url == "https://api.openai.com/v1"
    whole = server_at("https://u:p@[::1]:8/a/v1/?k=v")
    assert (whole.url, whole.login, whole.query) == ("https://[::1]:8/a/v1", ("u", "p"), "k=v")
    assert whole.with_query("/chat") == "/chat?k=v"
    assert server_at("http://h").with_query("/chat") == "/chat"


def test_a_server_that_is_not_there_does_not_show_the_login() -> None:
    with pytest.raises((UserError, RequestFailed)) as caught:
        chat(open_at("http://eva:hush@127.0.0.1:1/v1?token=quiet"))
    assert "hush" not in str(caught.value)
    assert "quiet" not in str(caught.value)
    assert "http://127.0.0.1:1/v1" in str(caught.value)
