"""An event loop in a thread of its own, for callers that have none, have one running (notebooks), or are many threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class Background:
    """Runs coroutines of any thread on one loop, so that clients, batches and locks outlive a single call."""

    def __init__(self) -> None:
        ready: Future[asyncio.AbstractEventLoop] = Future()
        # A daemon: a Judge that nobody closed must not keep the process alive.
        self._thread = threading.Thread(target=asyncio.run, args=(self._serve(ready),), name="truebench", daemon=True)
        self._thread.start()
        self._loop = ready.result()

    async def _serve(self, ready: Future[asyncio.AbstractEventLoop]) -> None:
        self._stop = asyncio.Event()
        ready.set_result(asyncio.get_running_loop())
        await self._stop.wait()

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

    def close(self) -> None:
        """End the loop; what is still under way is cancelled."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()
