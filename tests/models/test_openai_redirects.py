"""No redirect is followed: keys, prompts and headers go to the address that the user gave, and to no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

from tests.support import loopback
from tests.support.bad_answers import redirect
from tests.support.bad_server import BadServer
from tests.support.openai_client import Ask, ask_chat, ask_decide, ask_stream, once, open_at
from truebench_hf.errors import UserError
from truebench_hf.models.openai_model import OpenAIModel


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, list[str]]]:
    """Another server, which would answer anything, and what came in there."""
    seen: list[str] = []

    async def handle(request: web.BaseRequest) -> web.Response:
        seen.append(f"{request.method} {request.path_qs} {dict(request.headers)} {await request.text()}")
        return web.json_response({"choices": [{"message": {"content": "not from whom you asked"}}], "answers": {}})

    with loopback.serving(handle) as port:
        yield f"http://{loopback.HOST}:{port}/v1", seen


ASKS = [
    pytest.param(ask_chat, {}, "/chat/completions", id="chat"),
    pytest.param(ask_stream, {}, "/chat/completions", id="stream"),
    pytest.param(ask_decide, {"decisions": "systemone"}, "/systemone", id="systemone"),
    pytest.param(ask_decide, {"decisions": "decisions"}, "/decisions", id="decisions"),
]


def _refused(url: str, ask: Ask, **options: Any) -> str:
    model = open_at(url, **options)
    with pytest.raises(UserError) as caught:
        once(model, ask(model))
    return str(caught.value)


@pytest.mark.parametrize(("ask", "options", "path"), ASKS)
@pytest.mark.parametrize("status", [300, 303, 308])
def test_a_redirect_stops_the_run_and_names_the_new_url(
    ask: Ask, options: dict[str, Any], path: str, status: int, elsewhere: tuple[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "api-key: k3y-of-a-header-0123")
    url, seen = elsewhere
    with BadServer([redirect(url + path, status)] * 9) as server:
        message = _refused(server.url, ask, **options)
        assert message == (
            f"openai:test-model: {server.url} answered {status}, a redirect to {url}{path}, which is not followed; if "
            "you trust it, give its base URL as --model-base-url/--judge-base-url"
        )
        assert server.posts == 1
    assert seen == []


@pytest.mark.parametrize(
    ("where", "words", "reason"),
    [
        ("/v2/chat/completions", "to http://127.0.0.1:PORT/v2/chat/completions, which", "relative to what was asked"),
        ("?again", "a redirect to http://127.0.0.1:PORT/v1/chat/completions, which", "in a circle"),
        (
            "https://me:secret-login@login.example/in?token=secret-query",
            "to https://login.example/in, which",
            "secrets",
        ),
        ("ftp://127.0.0.1/x", "a redirect to ftp://127.0.0.1/x, which", "another protocol"),
        ("http://[::1/x?a=secret-query", "a redirect to http://[::1/x, which", "a bracket left open"),
        ("http://127.0.0.1:x/", "a redirect to http://127.0.0.1:x/, which", "a letter for a port"),
        ("http://a.example/" + "x" * 5000, "a redirect to http://a.example/xxx", "a long one"),
        ("", "/nowhere, which", "no place at all"),
    ],
)
def test_any_place_is_told_in_one_line_without_secrets(where: str, words: str, reason: str) -> None:
    with BadServer([redirect(where)] * 9) as server:
        message = _refused(server.url, ask_chat)
        assert words.replace("PORT", str(server.port)) in message, reason
        assert server.posts == 1
    assert "secret" not in message
    assert "\n" not in message
    assert len(message) < 1500


def test_a_path_that_has_answered_before_is_left_for_no_other_either(elsewhere: tuple[str, list[str]]) -> None:
    url, seen = elsewhere

    async def twice(model: OpenAIModel) -> None:
        await ask_chat(model)
        await ask_chat(model)

    with BadServer([None, redirect(f"{url}/chat/completions", 303)]) as server, pytest.raises(UserError, match=url):
        once(model := open_at(server.url), twice(model))
    assert (server.posts, seen) == (2, [])
