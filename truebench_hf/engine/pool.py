"""Many pieces of work at once: a bounded number at a time, or gathered into batches for an engine that wants those."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
R = TypeVar("R")
_STOPPABLE: ContextVar[list[tuple[Any, Any]]] = ContextVar("_STOPPABLE")  # (loop, task) of all that runs
Q = TypeVar("Q")
A = TypeVar("A")


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


def run_async(work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine as `asyncio.run` does; within `outside_loop` an interrupt of the caller's thread cancels it."""

    async def main() -> R:
        _STOPPABLE.get([]).append((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    return asyncio.run(main())


def outside_loop(work: Callable[[], R]) -> R:
    """Return `work()`, done in a thread of its own where this one runs an event loop already, as notebooks do.

    Ctrl-C there cancels what `run_async` runs, waits until it has put its things away, and raises Stopped.
    """
    in_notebook = True
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        in_notebook = False
    if not in_notebook:
        return work()
    tasks: list[tuple[Any, Any]] = []
    context = copy_context()
    context.run(_STOPPABLE.set, tasks)
    with ThreadPoolExecutor(1) as thread:
        future = thread.submit(context.run, work)
        try:
            return future.result()
        except KeyboardInterrupt:
            for loop, task in tasks:
                with suppress(RuntimeError):  # closed meanwhile
                    loop.call_soon_threadsafe(task.cancel)
            wait([future])
            raise Stopped from None


class Stopped(KeyboardInterrupt):
    """A notebook's interrupt, after which nothing that was paid for is lost; IPython shows it as one line."""

    def __str__(self) -> str:
        return "stopped; the same call goes on where it was, if it names a folder (out=...)"

    def _render_traceback_(self) -> list[str]:
        return [f"truebench: {self}"]


class Batcher(Generic[Q, A]):
    """Awaitable single requests over `run`, a blocking function from a batch of requests to their answers.

    `cost` is a request's length, at least 0: a batch takes up to `size` of the longest requests waiting, all of them at
    least half as long as the first, so that batches hold requests of like length and too large a batch shows at once.
    `run` may put an exception in place of an answer; it is raised to that request alone. All batchers that share an
    `executor` with one worker take turns on the machine, and so do event loops that share a batcher: what waits is
    collected for each loop apart, since a future is answered on its own.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Q]], Sequence[A | BaseException]],
        cost: Callable[[Q], int],
        size: int,
        executor: ThreadPoolExecutor,
    ) -> None:
        self._run, self._cost, self._size, self._executor = run, cost, size, executor
        self._queues: WeakKeyDictionary[Any, _Queue[Q, A]] = WeakKeyDictionary()

    async def ask(self, request: Q) -> A:
        """The answer to one request, once a batch that holds it has run."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[A] = loop.create_future()
        queue = self._queues.setdefault(loop, _Queue())
        queue.waiting.append((request, future))
        if queue.worker is None or queue.worker.done():
            queue.worker = asyncio.create_task(self._work(queue))
            queue.worker.add_done_callback(queue.rest)
        return await future

    async def _work(self, queue: _Queue[Q, A]) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.02)  # requests issued together should travel together
        while queue.wanted():
            queue.waiting.sort(key=lambda item: -self._cost(item[0]))
            longest = self._cost(queue.waiting[0][0])
            # Half as long at least: what is padded to a far longer neighbour costs as much as the neighbour.
            count = sum(1 for request, _ in queue.waiting[: self._size] if 2 * self._cost(request) >= longest)
            batch, queue.waiting = queue.waiting[:count], queue.waiting[count:]
            try:
                answers = await loop.run_in_executor(self._executor, self._run, [request for request, _ in batch])
            except Exception as error:  # goes to everyone who waits for this batch
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.cancelled():
                    continue
                if isinstance(answer, BaseException):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)
            await asyncio.sleep(0)  # let the answered put their next requests in before the next batch is cut


class _Queue(Generic[Q, A]):
    """What waits on one event loop, and the task that answers it."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self.worker: asyncio.Task[None] | None = None

    def wanted(self) -> bool:
        """Whether anybody still waits. Requests that were given up are dropped before they are run."""
        self.waiting = [item for item in self.waiting if not item[1].cancelled()]
        return bool(self.waiting)

    def rest(self, done: asyncio.Task[None]) -> None:
        """Let the task go: it knows its loop, which would otherwise live as long as the batcher."""
        self.worker = None if self.worker is done else self.worker
