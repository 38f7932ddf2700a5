"""Single requests gathered into rounds, for engines that work through many at a time and lose some of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from truebench_hf.engine.retry import RequestFailed

Q = TypeVar("Q")
A = TypeVar("A")
# Seconds without a new request after which a round begins, and the longest wait for anything.
_SETTLED, _LONGEST = 0.2, 2.0
TRIES = 3  # a request that is lost so often may be what kills the workers


@dataclass(eq=False)
class _Asked(Generic[Q, A]):
    request: Q
    answer: asyncio.Future[A]
    lost: int = 0


class Rounds(Generic[Q, A]):
    """Awaitable single requests over `run`, a blocking function from many of them to (place, answer) as answers come.

    What waits while a round is under way makes up the next one. What a round leaves unanswered was lost: `lost` counts
    it, and the next round holds it again. With a `turn` rounds that share it are run one after the other.
    """

    def __init__(self, run: Callable[[Sequence[Q]], Iterator[tuple[int, A]]], turn: asyncio.Lock | None = None) -> None:
        self._run, self._turn = run, turn or asyncio.Lock()
        self._waiting: list[_Asked[Q, A]] = []
        self._worker: asyncio.Task[None] | None = None
        self._thread: threading.Thread | None = None
        self._newest = 0.0
        self._closed = False
        self.lost = 0

    async def ask(self, request: Q) -> A:
        """The answer to one request. Raises what `run` raises, and RequestFailed for one that is lost again and again."""
        loop = asyncio.get_running_loop()
        asked: _Asked[Q, A] = _Asked(request, loop.create_future())
        self._waiting.append(asked)
        self._newest = loop.time()
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        return await asked.answer

    async def close(self) -> None:
        """Begin no further round, and read no more of the one under way, which is waited for only shortly."""
        self._closed = True
        if self._worker is not None:
            self._worker.cancel()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _LONGEST)

    async def _work(self) -> None:
        while self._waiting:
            await self._settle()
            async with self._turn:
                taken, self._waiting = [one for one in self._waiting if not one.answer.done()], []
                if taken:
                    await self._round(taken)

    async def _settle(self) -> None:
        """Let requests that are issued together travel together."""
        loop = asyncio.get_running_loop()
        until = loop.time() + _LONGEST
        while (left := min(self._newest + _SETTLED, until) - loop.time()) > 0:
            await asyncio.sleep(left)

    async def _round(self, asked: list[_Asked[Q, A]]) -> None:
        try:
            await self._through(asked)
        except Exception as error:  # goes to all who wait for this round
            for one in asked:
                _settle_with(one.answer, error)
            return
        for one in asked:
            if not one.answer.done():
                one.lost += 1
                if one.lost < TRIES:
                    self.lost += 1
                    self._waiting.append(one)
                else:
                    _settle_with(one.answer, RequestFailed(f"lost with {TRIES} workers one after the other"))

    async def _through(self, asked: list[_Asked[Q, A]]) -> None:
        """One round in a thread of its own; its answers are given as they come."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[None] = loop.create_future()

        def tell(call: Callable[..., Any], *values: Any) -> None:
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(call, *values)

        def work() -> None:
            try:
                for place, answer in self._run([one.request for one in asked]):
                    if self._closed:
                        return
                    tell(_settle_with, asked[place].answer, answer)
                tell(_settle_with, ended, None)
            except BaseException as error:
                tell(_settle_with, ended, error)

        # A daemon: what nobody can interrupt must not hold up the end of the process.
        self._thread = threading.Thread(target=work, name="round", daemon=True)
        self._thread.start()
        await ended


def _settle_with(future: asyncio.Future[Any], value: Any) -> None:
    if future.done():
        return
    if isinstance(value, BaseException):
        future.set_exception(value)
    else:
        future.set_result(value)
