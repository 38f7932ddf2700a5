"""Files of the page are answered from memory the second time, exactly as the first; nothing else is."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from truebench_hf.space.serving import AssetCache


def _app(status: int, parts: list[bytes]) -> tuple[Any, list[str]]:
    asked: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked.append(scope["path"])
        await send({"type": "http.response.start", "status": status, "headers": [(b"etag", b"x")]})
        for number, part in enumerate(parts, 1):
            await send({"type": "http.response.body", "body": part, "more_body": number < len(parts)})

    return app, asked


def _get(cache: AssetCache, path: str, method: str = "GET", **headers: str) -> tuple[int, bytes]:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
    }
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    asyncio.run(cache(scope, None, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])


def test_a_file_is_made_once_for_each_way_of_sending_it() -> None:
    app, asked = _app(200, [b"one ", b"two"])
    cache = AssetCache(app)
    for _ in range(3):
        assert _get(cache, "/assets/a.js", accept_encoding="gzip, br") == (200, b"one two")
        assert _get(cache, "/assets/a.js") == (200, b"one two")
    assert len(asked) == 2, "once compressed, once plain"


@pytest.mark.parametrize(
    ("path", "more", "status"),
    [
        ("/", {}, 200),  # the page changes with the board
        ("/gradio_api/queue/data", {}, 200),  # a stream
        ("/assets/../secret", {}, 404),  # not there: a visitor must not fill the memory with what is not there
        ("/assets/a.js", {"range": "bytes=0-3"}, 206),  # a part of a file
        ("/assets/a.js", {"if_none_match": "x"}, 304),  # the visitor has it already
        ("/assets/a.js", {"method": "HEAD"}, 200),  # no body
    ],
)
def test_all_else_is_asked_every_time(path: str, more: dict[str, str], status: int) -> None:
    app, asked = _app(status, [b"body"])
    cache = AssetCache(app)
    for _ in range(2):
        assert _get(cache, path, **more)[0] == status
    assert len(asked) == 2


def test_an_answer_that_breaks_off_is_not_kept() -> None:
    app, asked = _app(200, [])
    cache = AssetCache(app)
    _get(cache, "/assets/a.js")
    _get(cache, "/assets/a.js")
    assert len(asked) == 2
