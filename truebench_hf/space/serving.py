"""What the server answers around Gradio: assets from memory, headers, the first view of the page, results as JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import asdict
from typing import Any
from urllib.parse import parse_qs, unquote_plus

from markupsafe import Markup

from truebench_hf.space.board import boards
from truebench_hf.space.board.asked import Asked
from truebench_hf.space.board.page import found
from truebench_hf.space.board.store import BoardStore, Snapshot
from truebench_hf.space.look import filled

_LARGEST = 2**23  # bytes of one file


class AssetCache:
    """ASGI middleware that keeps what the app answers for its unchanging files, compressed as it was sent.

    The table is drawn when Gradio's styles are there: out of memory it can be read a quarter sooner, and the server works
    a tenth of a second less for a visitor. Everything else passes through; only whole files that exist are kept, so that a
    visitor cannot fill the memory.
    """

    def __init__(self, app: Any, prefix: str = "/assets/") -> None:
        self._app, self._prefix = app, prefix
        self._kept: dict[tuple[str, bool, bool], list[dict[str, Any]]] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer from memory where possible, else pass on and keep the answer."""
        headers = dict(scope.get("headers", ()))
        asset = scope["type"] == "http" and scope["method"] == "GET" and scope["path"].startswith(self._prefix)
        if not asset or not {b"range", b"if-none-match", b"if-modified-since"}.isdisjoint(headers):
            await self._app(scope, receive, send)
            return
        accepted = headers.get(b"accept-encoding", b"")
        key = scope["path"], b"br" in accepted, b"gzip" in accepted
        if key in self._kept:
            for message in self._kept[key]:
                await send(message)
            return
        seen: list[dict[str, Any]] = []

        async def both(message: dict[str, Any]) -> None:
            seen.append(message)
            await send(message)

        await self._app(scope, receive, both)
        start, parts = seen[:1], seen[1:]
        if not parts or start[0].get("status") != 200 or parts[-1].get("more_body"):
            return
        body = b"".join(part.get("body", b"") for part in parts)
        if all(part["type"] == "http.response.body" for part in parts) and len(body) <= _LARGEST:
            self._kept[key] = [*start, {"type": "http.response.body", "body": body}]


class Compressed:
    """ASGI middleware that compresses what has no file's ending: the page, its settings, what server functions answer.

    Streams of events pass as they are, and so do files, which Gradio compresses better further out.
    """

    def __init__(self, app: Any) -> None:
        from starlette.middleware.gzip import GZipMiddleware

        self._app, self._zipped = app, GZipMiddleware(app, minimum_size=1000, compresslevel=5)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on by the one way or the other."""
        plain = scope["type"] != "http" or "." in scope["path"].rpartition("/")[2]
        await (self._app if plain else self._zipped)(scope, receive, send)


# Gradio's page is made of scripts and styles that stand in it, and compiles the scripts of events; all else is ours alone.
# The Hub shows a Space in a frame of its own page.
POLICY = "; ".join(
    (
        "default-src 'self'", "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:", "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:", "font-src 'self' data:", "media-src 'self' data: blob:",
        "connect-src 'self' data: blob:", "worker-src 'self' blob:", "object-src 'none'", "base-uri 'self'",
        "form-action 'self'", "frame-ancestors 'self' https://huggingface.co",
    )
)  # fmt: skip
_OURS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"strict-origin-when-cross-origin",
}


class SafeHeaders:
    """ASGI middleware that puts these headers in place of such of the app's own."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, and the answer with the headers."""

        async def send_safe(message: Any) -> None:
            if message["type"] == "http.response.start":
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in _OURS]
                message = {**message, "headers": [*kept, *_OURS.items()]}
            await send(message)

        await self._app(scope, receive, send_safe if scope["type"] == "http" else send)


_BEFORE = b"<gradio-app"
# What Gradio tells those who show a preview of a link: its own name and picture; they get the title of the page instead.
_PREVIEW = re.compile(rb'\s*<meta\s+(?:property|name)="(?:og|twitter):[^>]*>')


class FirstView:
    """ASGI middleware that puts HTML in front of the app's own element in the page at `/`, and into its head.

    `html` gets the query and returns what to put there; empty: nothing. `head` is what stands in the head. The answer to
    HEAD tells no length, since that of the page without the view would be wrong. All other answers pass as they are. It
    has to stand inside of whatever compresses.
    """

    def __init__(self, app: Any, html: Callable[[dict[str, str]], str], head: str) -> None:
        self._app, self._html, self._head = app, html, head

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, and change the answer where it is the page."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        # Gradio reads `page` as that of an app of several, and falls over one that is not there.
        pairs = (pair.partition(b"=") for pair in scope["query_string"].split(b"&"))
        kept = (pair for pair in pairs if unquote_plus(pair[0].decode("latin-1")) != "page")
        scope = {**scope, "query_string": b"&".join(map(b"".join, kept))}
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
    """Return what a link to the page shows of it elsewhere."""
    return filled("preview.html.jinja", title=title, about=about)


def render(
    board: str, *, part: int, head: str, tabs: list[str], style: str, script: str, fonts: str, theme: str = ""
) -> str:
    """The view: `head` and `board` are HTML of ours, laid out as the live page is. Without a board only the script
    comes, for the page that was opened at another tab. `part` is the number of the app's component that the board is to
    stand in."""
    return filled(
        "first_view.html.jinja", scheme=theme if theme in ("light", "dark") else "light dark", fonts=Markup(fonts), head=Markup(head), tabs=tabs,
        board=Markup(board), part=part, style=Markup(style), script=Markup(script),
    )  # fmt: skip


def json_route(board: BoardStore) -> Any:
    """Return the route of the results as JSON.

    The query is `board` and `group`; without one it is the group that visitors meet first.
    """
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def results(request: Any) -> Any:
        content = board_json(board.snapshot, Asked.of(request.query_params))
        return JSONResponse(content, headers={"Access-Control-Allow-Origin": "*"})

    return Route("/api/board.json", results)


def board_json(snapshot: Snapshot, query: Asked) -> dict[str, Any]:
    """Return a group of results: what it is, who leads, a record per row with every score, and where other groups are."""
    all_boards, board, group = found(snapshot, query)
    rows = [
        {
            "name": entry.name, "rank": entry.rank, "last_rank": entry.last, "source": entry.source,
            "scores": {name: asdict(score) for name, score in entry.scores.items()}, "facts": dict(entry.facts),
        }
        for entry in (group.entries if group else ())
    ]  # fmt: skip
    return {
        "board": board.title,
        "ranked_by": board.kind.main,
        "unit": board.kind.unit,
        "heading": boards.heading(group) if group else "",
        "lead": boards.lead(group) if group else "",
        "rows": rows,
        "boards": [
            {"board": other.title, "heading": boards.heading(part), "address": f"?board={other.id}&group={part.id}"}
            for other in all_boards
            for part in other.groups
        ],
    }
