"""Many pieces of work at once: a bounded number at a time, or gathered into batches for an engine that wants those."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any, Generic, TypeVar

from truebench_hf.text.terminal import printable

T = TypeVar("T")
R = TypeVar("R")
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
    """Run a coroutine as `asyncio.run` does, beside a loop that runs already in notebooks.

    Ctrl-C cancels it there, waits until it has put its things away, and raises Stopped.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    background = Background()
    try:
        return background.run(work)
    except KeyboardInterrupt:
        raise Stopped from None
    finally:
        background.close()


class Stopped(KeyboardInterrupt):
    """A notebook's interrupt, after which nothing that was paid for is lost; IPython shows it as one line."""

    def __str__(self) -> str:
        return "stopped; the same call goes on where it was, if it names a folder (out=...)"

    def _render_traceback_(self) -> list[str]:
        return [f"truebench: {self}"]


class Background:
    """An event loop in a thread of its own, for callers that have none, have one running (notebooks), or are many threads.

    It runs coroutines of any thread, so that clients, batches and locks outlive a single call.
    """

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

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        """What `work` returns or raises; it is cancelled where the caller is interrupted."""
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    async def ask(self, work: Coroutine[Any, Any, R]) -> R:
        """The same for a caller on a loop of its own."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def close(self, last: Callable[[], Awaitable[None]] | None = None) -> None:
        """End the loop, with `last` as its last work; what else is under way is cancelled."""
        self._last = last
        self._loop.call_soon_threadsafe(self._stop.set)
        if threading.current_thread() is not self._thread:  # where the garbage collector may have found the owner
            self._thread.join()


class Batcher(Generic[Q, A]):
    """Awaitable single requests, of any event loop, over `run`, a blocking function from a batch of requests to answers.

    `cost` is a request's length, at least 0: a batch takes up to `size` of the longest requests waiting, all of them at
    least half as long as the first, so that batches hold requests of like length and too large a batch shows at once.
    `run` may put an exception in place of an answer; it is raised to that request alone. All batchers that share an
    `executor`, which has one worker, take turns on the machine.
    """

    def __init__(
        self,
        run: Callable[[Sequence[Q]], Sequence[A | BaseException]],
        cost: Callable[[Q], int],
        size: int,
        executor: ThreadPoolExecutor,
    ) -> None:
        self._run, self._cost, self._size, self._executor = run, cost, size, executor
        self._waiting: dict[Future[A], tuple[Q, int]] = {}

    async def ask(self, request: Q) -> A:
        """The answer to one request, once a batch that holds it has run. Raises what `cost` raises of it, too."""
        future: Future[A] = Future()
        self._waiting[future] = request, self._cost(request)
        self._executor.submit(self._run_batch)  # as many as there are requests: the last ones find nothing left
        return await asyncio.wrap_future(future)

    def _run_batch(self) -> None:
        if not self._waiting:
            return
        time.sleep(0.02)  # requests issued together should travel together, and those that follow an answer with them
        waiting = sorted(((cost, future) for future, (_, cost) in self._waiting.items()), key=lambda pair: -pair[0])
        # Half as long at least: what is padded to a far longer neighbour costs as much as the neighbour.
        taken = [future for cost, future in waiting[: self._size] if cost >= waiting[0][0] / 2]
        batch = [(future, self._waiting.pop(future)[0]) for future in taken]
        # Requests that were given up are dropped before they are run.
        if not (batch := [item for item in batch if item[0].set_running_or_notify_cancel()]):
            return
        answers: Sequence[A | BaseException]
        try:
            answers = self._run([request for _, request in batch])
        except Exception as error:  # goes to everyone who waits for this batch
            answers = [error] * len(batch)
        for (future, _), answer in zip(batch, answers, strict=True):
            if isinstance(answer, BaseException):
                future.set_exception(answer)
            else:
                future.set_result(answer)


Step = Callable[[str], None]


@contextmanager
def progress(totals: Mapping[str, int]) -> Iterator[Step]:
    """Show how far each name of `totals` is; the yielded function moves one on by one.

    Bars stand in a terminal and in a notebook; elsewhere, as in the log of a job, one for all is told once a minute.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice to install ipywidgets, without which bars are of characters
        from tqdm.auto import tqdm
    ipython = sys.modules.get("IPython")
    in_notebook = getattr(ipython.get_ipython() if ipython else None, "kernel", None) is not None
    with ExitStack() as open_:
        if sys.stderr.isatty() or in_notebook:
            bars = {
                name: open_.enter_context(tqdm(total=total, desc=printable(name))) for name, total in totals.items()
            }
        else:
            seldom = {"mininterval": 60, "maxinterval": 60, "delay": 60}
            bar = tqdm(total=sum(totals.values()), desc=printable(", ".join(totals)), **seldom)
            bars = dict.fromkeys(totals, open_.enter_context(bar))
        yield lambda name: bars[name].update()
