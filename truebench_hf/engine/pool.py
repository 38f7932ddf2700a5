"""Many pieces of work at once, a bounded number at a time, results as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


async def bounded(items: Iterable[T], work: Callable[[T], Awaitable[R]], limit: int) -> AsyncIterator[R]:
    """Yield `await work(item)` for every item in order of completion, at most `limit` under way.

    The first exception stops the rest and is raised.
    """
    waiting = iter(items)
    running: set[asyncio.Future[R]] = set()

    def start() -> None:
        while len(running) < limit and (item := next(waiting, done)) is not done:
            running.add(asyncio.ensure_future(work(item)))  # type: ignore[arg-type]

    done = object()
    start()
    try:
        while running:
            finished, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            running -= finished
            # All are looked at, else asyncio would print those that fail beside the first one.
            if errors := [error for future in finished if (error := future.exception()) is not None]:
                raise errors[0]
            results = [future.result() for future in finished]
            start()
            for result in results:
                yield result
    finally:
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def together(works: Iterable[Awaitable[R]]) -> list[R]:
    """All results, in the order given; the first exception stops the rest and is raised."""
    running = [asyncio.ensure_future(work) for work in works]
    try:
        return await asyncio.gather(*running)
    except BaseException:
        for future in running:
            future.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        raise


def outside_loop(work: Callable[[], R]) -> R:
    """`work()`, in a thread of its own where this one runs an event loop already, as notebooks do."""
    try:
        asyncio.get_running_loop()
        runs = True
    except RuntimeError:
        runs = False
    if not runs:
        return work()
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()
