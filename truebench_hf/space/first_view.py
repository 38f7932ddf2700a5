"""The page before Gradio has drawn it: the leaderboard can be read at once, and links to the page have a title of their own."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

_BEFORE = b"<gradio-app"
_TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)
# What Gradio tells those who show a preview of a link: its own name and picture.
_PREVIEW = re.compile(rb'\s*<meta\s+(?:property|name)="(?:og|twitter):[^>]*>')


class FirstView:
    """ASGI middleware that puts HTML in front of the app's own element in the page at `/`, and `head` into its head.

    `html` gets the query and returns what to put there; empty: nothing. The answer to HEAD tells no length, since that
    of the page without the view would be wrong. All other answers pass as they are. It has to stand inside of whatever
    compresses.
    """

    def __init__(self, app: Any, html: Callable[[dict[str, str]], str], head: str = "") -> None:
        self._app, self._html, self._head = app, html, head

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, and change the answer where it is the page."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        if scope["method"] == "HEAD":
            await self._app(scope, receive, lambda message: send(_unmeasured(message)))
            return
        query = {name: values[0] for name, values in parse_qs(scope["query_string"].decode("latin-1")).items()}
        start: dict[str, Any] = {}
        body = b""

        async def changed(message: dict[str, Any]) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                start = message
                return
            body += message.get("body", b"")
            if message.get("more_body"):
                return
            if start["status"] == 200 and _BEFORE in body:
                body = body.replace(_BEFORE, self._html(query).encode() + _BEFORE, 1)
                if self._head:
                    body = _PREVIEW.sub(b"", body).replace(b"</head>", self._head.encode() + b"</head>", 1)
            plain = _unmeasured(start)
            await send({**plain, "headers": [*plain["headers"], (b"content-length", str(len(body)).encode())]})
            await send({"type": "http.response.body", "body": body})

        await self._app(scope, receive, changed)


def _unmeasured(message: dict[str, Any]) -> dict[str, Any]:
    """A message of the answer without its length, if it tells one."""
    if "headers" not in message:
        return message
    return {**message, "headers": [pair for pair in message["headers"] if pair[0].lower() != b"content-length"]}


def preview(title: str, about: str) -> str:
    """What a link to the page shows of it elsewhere."""
    named = {"og:title": title, "og:type": "website", "og:description": about}
    tags = [Markup('<meta property="{}" content="{}">').format(*pair) for pair in named.items()]
    tags += [Markup('<meta name="{}" content="{}">').format("twitter:card", "summary")]
    return Markup('<meta name="description" content="{}">').format(escape(about)) + Markup("").join(tags)


def render(
    board: str, *, part: int, head: str, tabs: list[str], style: str, script: str, fonts: str, theme: str = ""
) -> str:
    """The view: `head` and `board` are HTML of ours, laid out as the live page is. Without a board only the script comes,
    for the page that was opened at another tab. `part` is the number of the app's component that the board is to stand in."""
    return _TEMPLATES.get_template("first_view.html.jinja").render(
        scheme=theme if theme in ("light", "dark") else "light dark", fonts=Markup(fonts), head=Markup(head), tabs=tabs,
        board=Markup(board), part=part, style=Markup(style), script=Markup(script),
    )  # fmt: skip
