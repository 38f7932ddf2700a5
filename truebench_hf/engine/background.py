"""An event loop in a thread of its own, for callers that have none, have one running (notebooks), or are many threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines of any thread on one loop, so that clients, batches and locks outlive a single call."""

    def __init__(self) -> None:
        ready: Future[asyncio.AbstractEventLoop] = Future()
        self._last: Callable[[], Awaitable[None]] | None = None
        # A daemon: a Judge that nobody closed must not keep the process alive.
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(ready),), name="truebench", daemon=True)
        self._thread.start()
        self._loop = ready.result()

    async def _serve(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        self._stop = asyncio.Event()
        ready.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        if self._last is not None:
            await self._last()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """What `work` returns or raises; it is cancelled where the caller is interrupted."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def ask(self, work: Coroutine[Any, Any, T]) -> T:
        """The same for a caller on a loop of its own."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self, last: Callable[[], Awaitable[None]] | None = None) -> None:
        """End the loop, with `last` as its last work; what else is under way is cancelled."""
        self._last = last
        self._loop.call_soon_threadsafe(self._stop.set)
        if threading.current_thread() is not self._thread:  # where the garbage collector may have found the owner
            self._thread.join()
