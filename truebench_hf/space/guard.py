"""What stands between visitors and the machine: limits on what comes in, and no inner text on what goes out."""

from __future__ import annotations

import asyncio
import re
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any, TypeVar

from markupsafe import escape

from truebench_hf.errors import UserError
from truebench_hf.text import anonymous, redaction
from truebench_hf.text.terminal import warn

T = TypeVar("T")
# A list's mark at the head of a line, with the space after it: "-5 °C is stated" and "3.5 km" have none.
_MARK = re.compile(r"^(?:[-*•]|\d{1,2}[.)])(?:\s+|$)")
_BROKEN = "Something went wrong on our side. It has been noted; please try again."


class VisitorError(Exception):
    """Something the visitor can mend; its text is shown as it stands."""


def text_within(text: str | None, limit: int, what: str) -> str:
    """A visitor's text without surrounding space. Raises VisitorError when it is empty or too long."""
    kept = _sendable(text).strip()
    if not kept:
        raise VisitorError(f"{what} is empty.")
    if len(kept) > limit:
        raise VisitorError(f"{what} has {len(kept):,} characters; the limit is {limit:,}.")
    return kept


def lines_within(text: str | None, most: int, longest: int) -> list[str]:
    """A checklist from one criterion a line, list marks left out.

    Raises VisitorError when there is none, or too many, or one too long.
    """
    lines = [_MARK.sub("", line.strip()) for line in _sendable(text).splitlines()]
    kept = [line for line in lines if line]
    if not kept:
        raise VisitorError("The checklist is empty: write one criterion per line.")
    if len(kept) > most:
        raise VisitorError(f"The checklist has {len(kept)} criteria; the limit is {most}.")
    if any(len(line) > longest for line in kept):
        raise VisitorError(f"A criterion is longer than {longest} characters.")
    return kept


def _sendable(text: str | None) -> str:
    """What a visitor typed, without what no model can be sent: nulls, and halves of characters, which become `?`."""
    return (text or "").replace("\0", "").encode("utf-8", "replace").decode()


def told(error: BaseException) -> str:
    """What a visitor is told about an error; all but a VisitorError goes to the operator's log instead."""
    if isinstance(error, VisitorError):
        return str(error)
    if isinstance(error, TimeoutError):
        return "This took too long and was stopped."
    if isinstance(error, UserError):  # the operator can mend it: a line says how
        warn(f"space: {' '.join(anonymous.text(redaction.error(str(error))).split())}")
        return _BROKEN
    warn("".join(traceback.format_exception(error)).rstrip())
    return _BROKEN


def status(text: str, kind: str = "info") -> str:
    """A line about what is going on, as HTML that a screen reader speaks.

    `kind` is info, busy, bad (it went wrong), or how an answer did: good, fail, open.
    """
    kind = kind if text else "none"
    role = "alert" if kind == "bad" else "status"
    return f'<p class="tb-status tb-{kind}" role="{role}">{escape(text) or "&nbsp;"}</p>'


async def within(parts: AsyncIterator[T], seconds: float) -> AsyncGenerator[T, None]:
    """The items of an iterator until the time is up. Raises TimeoutError then; closes the iterator in any case."""
    end = time.monotonic() + seconds
    source: Any = parts
    async with aclosing(source):
        while True:
            try:
                part = await asyncio.wait_for(anext(source), end - time.monotonic())
            except StopAsyncIteration:
                return
            yield part
