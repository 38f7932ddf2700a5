"""The picture that a link to the Space shows elsewhere: the head of the leaderboard as it is now."""

from __future__ import annotations

import io
from typing import Any

from truebench_hf.space.board.asked import Asked
from truebench_hf.space.board.page import Page, Row, page
from truebench_hf.space.board.store import Board

PLACE = "/preview.png"
SIZE = (1200, 630)  # what previews of links are cut to
_INK, _SOFT, _BAR, _EMPTY = "#16202e", "#556070", "#9dbcf2", "#eef2f7"
_EDGE, _TOP, _LINE, _BARS, _ROWS = 70, 232, 58, 560, 6  # pixels; rows


class Picture:
    """ASGI middleware that answers at `PLACE` with a PNG of a board's first page, drawn anew when its version changes."""

    def __init__(self, app: Any, board: Board, title: str) -> None:
        self._app, self._board, self._title = app, board, title
        self._kept = (-1, b"")

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer with the picture, or pass the request on."""
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD") or scope["path"] != PLACE:
            await self._app(scope, receive, send)
            return
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import Response

        now = self._board.snapshot
        if self._kept[0] != now.version:
            self._kept = now.version, await run_in_threadpool(lambda: draw(self._title, page(now, Asked())))
        kept = Response(self._kept[1], media_type="image/png", headers={"Cache-Control": "public, max-age=3600"})
        await kept(scope, receive, send)


def draw(title: str, shown: Page) -> bytes:
    """The first lines of a page's table with their scores as bars, as PNG."""
    from PIL import Image, ImageDraw, ImageFont

    picture = Image.new("RGB", SIZE, "white")
    canvas = ImageDraw.Draw(picture)

    def write(x: float, y: float, text: str, size: int, ink: str = _INK, room: float = SIZE[0] - 2 * _EDGE) -> None:
        font = ImageFont.load_default(size)
        text = "".join(sign if sign.isprintable() else " " for sign in text.encode(errors="replace").decode())
        while font.getlength(text) > room:
            text = text.rstrip("…")[:-1] + "…"
        canvas.text((x, y), text, ink, font, "lm")

    write(_EDGE, 90, title, 46)
    write(_EDGE, 160, shown.heading or "No results yet", 30, _SOFT)
    rows = [row for row in shown.table.rows if row.bar.sort is not None][:_ROWS]
    for place, row in enumerate(rows):
        y = _TOP + _LINE * place
        write(_EDGE, y, row.name, 28, room=_BARS - _EDGE - 30)
        _bar(canvas, y, row)
        write(SIZE[0] - _EDGE - 70, y, row.bar.text, 32)
    canvas.rectangle((0, SIZE[1] - 12, SIZE[0], SIZE[1]), "#1f5fd0")
    out = io.BytesIO()
    picture.save(out, "PNG", optimize=True)
    return out.getvalue()


def _bar(canvas: Any, y: int, row: Row) -> None:
    """A score with its interval, on the scale of the table's own bars."""

    def x(percent: float) -> float:
        return _BARS + (SIZE[0] - _EDGE - 100 - _BARS) * percent / 100

    canvas.rounded_rectangle((x(0), y - 13, x(100), y + 13), 6, _EMPTY)
    if row.bar.width > 0:
        canvas.rounded_rectangle((x(0), y - 13, x(max(row.bar.width, 1)), y + 13), 6, _BAR)
    if row.bar.low is not None and row.bar.high is not None:
        canvas.rectangle((x(row.bar.low), y - 2, x(row.bar.high), y + 1), _INK)
