"""The table in the page itself: it can be read at once, while Gradio's scripts take a second or two to draw theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from truebench_hf.space import look
from truebench_hf.space.board.table import width

_BEFORE = b"<gradio-app"
_TEMPLATES = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined)


class FirstView:
    """ASGI middleware that puts HTML in front of the app's own element in the page at `/`.

    `html` gets the query and returns what to put there; empty: nothing. The answer to HEAD tells no length, since that
    of the page without the view would be wrong. All other answers pass as they are. It has to stand inside of whatever
    compresses.
    """

    def __init__(self, app: Any, html: Callable[[dict[str, str]], str]) -> None:
        self._app, self._html = app, html

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
            plain = _unmeasured(start)
            await send({**plain, "headers": [*plain["headers"], (b"content-length", str(len(body)).encode())]})
            await send({"type": "http.response.body", "body": body})

        await self._app(scope, receive, changed)


def _unmeasured(message: dict[str, Any]) -> dict[str, Any]:
    """A message of the answer without its length, if it tells one."""
    if "headers" not in message:
        return message
    return {**message, "headers": [pair for pair in message["headers"] if pair[0].lower() != b"content-length"]}


def render(
    table: Mapping[str, Any], *, head: str, tabs: Sequence[str], label: str, theme: str = "", boards: Sequence[str] = ()
) -> str:
    """A table from `board.table` as HTML, laid out as the live page is. `head` is HTML of ours.

    `boards` are those to choose from, where there are several.
    """
    read, styles = table["metadata"]["display_value"], table["metadata"]["styling"]
    rows = [{"cells": cells, "style": styles[number][0] if styles else ""} for number, cells in enumerate(read)]
    page = _TEMPLATES.get_template("first_view.html.jinja")
    return page.render(
        scheme=theme if theme in ("light", "dark") else "light dark", fonts=Markup(look.font_list()),
        head=Markup(head), tabs=tabs, label=label, rows=rows, boards=boards,
        columns=[{"name": name, "width": width(name)} for name in table["headers"]],
    )  # fmt: skip
