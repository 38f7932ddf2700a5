"""What browsers are told of all that the Space serves: nothing comes from elsewhere, and no type is guessed."""

from __future__ import annotations

from typing import Any

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
