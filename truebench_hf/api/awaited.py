"""`judge` and `run` to be awaited, in a notebook or a server: `await truebench_hf.ajudge(...)`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from truebench_hf.api.judge import judge
from truebench_hf.api.run import run

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(call: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """Return the call in a thread of its own, so that the event loop goes on meanwhile."""

    @wraps(call)
    async def awaited(*args: P.args, **options: P.kwargs) -> T:
        return await asyncio.to_thread(call, *args, **options)

    awaited.__name__ = awaited.__qualname__ = f"a{call.__name__}"
    return awaited


ajudge = _awaited(judge)
arun = _awaited(run)
