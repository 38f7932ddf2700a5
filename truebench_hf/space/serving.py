"""The page's scripts and styles from memory: a first page asks for some eighty files, one by one."""

from __future__ import annotations

from typing import Any

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
        key = self._key(scope)
        if key is None:
            await self._app(scope, receive, send)
            return
        if (kept := self._kept.get(key)) is not None:
            for message in kept:
                await send(message)
            return
        seen: list[dict[str, Any]] = []

        async def both(message: dict[str, Any]) -> None:
            seen.append(message)
            await send(message)

        await self._app(scope, receive, both)
        if (whole := _whole(seen)) is not None:
            self._kept[key] = whole

    def _key(self, scope: Any) -> tuple[str, bool, bool] | None:
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(self._prefix):
            return None
        headers = dict(scope["headers"])
        if not {b"range", b"if-none-match", b"if-modified-since"}.isdisjoint(headers):
            return None
        accepted = headers.get(b"accept-encoding", b"")
        return scope["path"], b"br" in accepted, b"gzip" in accepted


def _whole(messages: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    """The answer in one piece; None where it is not a whole file that was found."""
    start, parts = messages[:1], messages[1:]
    if not parts or start[0].get("status") != 200 or parts[-1].get("more_body"):
        return None
    if any(part["type"] != "http.response.body" for part in parts):
        return None
    body = b"".join(part.get("body", b"") for part in parts)
    return [*start, {"type": "http.response.body", "body": body}] if len(body) <= _LARGEST else None


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


class Headers:
    """ASGI middleware that puts these headers in place of such of the app's own."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, and the answer with the headers."""

        async def told(message: Any) -> None:
            if message["type"] == "http.response.start":
                kept = [pair for pair in message.get("headers", ()) if pair[0].lower() not in _OURS]
                message = {**message, "headers": [*kept, *_OURS.items()]}
            await send(message)

        await self._app(scope, receive, told if scope["type"] == "http" else send)
