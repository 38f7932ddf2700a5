"""Making a batch engine answer single requests: what waits is collected, sorted by length, and run together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Batcher(Generic[Q, A]):
    """Awaitable single requests over `run`, a blocking function from a batch of requests to their answers.

    `cost` is a request's length, at least 0: a batch takes up to `size` of the longest requests waiting, all of them at
    least half as long as the first, so that batches hold requests of like length and too large a batch shows at once.
    `run` may put an exception in place of an answer; it is raised to that request alone. All batchers that share an
    `executor` with one worker take turns on the machine.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Q]], Sequence[A | BaseException]],
        cost: Callable[[Q], int],
        size: int,
        executor: ThreadPoolExecutor,
    ) -> None:
        self._run, self._cost, self._size, self._executor = run, cost, size, executor
        self._waiting: list[tuple[Q, asyncio.Future[A]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def ask(self, request: Q) -> A:
        """The answer to one request, once a batch that holds it has run."""
        future: asyncio.Future[A] = asyncio.get_running_loop().create_future()
        self._waiting.append((request, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await future

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        await asyncio.sleep(0.02)  # requests issued together should travel together
        while self._waiting:
            self._waiting.sort(key=lambda item: -self._cost(item[0]))
            longest = self._cost(self._waiting[0][0])
            # Half as long at least: what is padded to a far longer neighbour costs as much as the neighbour.
            count = sum(1 for request, _ in self._waiting[: self._size] if 2 * self._cost(request) >= longest)
            batch, self._waiting = self._waiting[:count], self._waiting[count:]
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
