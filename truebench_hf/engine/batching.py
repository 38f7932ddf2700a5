"""Making a batch engine answer single requests: what waits is collected, sorted by length, and run together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

Q = TypeVar("Q")
A = TypeVar("A")


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
