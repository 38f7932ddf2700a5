"""Pages and answers of the server compressed; Gradio compresses files with a known ending alone."""

from __future__ import annotations

from typing import Any


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
