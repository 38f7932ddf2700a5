"""Bounded work, the loop in a thread of its own, and the batches of a local engine: what comes back, and what an error ends."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from truebench_hf.engine.pool import Background, Batcher, bounded


async def listed(stream: AsyncIterator[int]) -> list[int]:
    return [item async for item in stream]


@pytest.mark.parametrize(("limit", "number"), [(1, 5), (3, 20), (50, 5), (4, 0)])
def test_every_item_once_and_no_more_at_once_than_allowed(limit: int, number: int) -> None:
    running: list[int] = []
    most = [0]

    async def work(item: int) -> int:
        running.append(item)
        most.append(len(running))
        await asyncio.sleep(0.001 * (item % 3))
        running.remove(item)
        return item * 10

    assert sorted(asyncio.run(listed(bounded(range(number), work, limit)))) == [i * 10 for i in range(number)]
    assert max(most) <= limit


def test_results_come_as_they_are_done() -> None:
    async def work(item: int) -> int:
        return await asyncio.sleep(0.05 * item, item)

    assert asyncio.run(listed(bounded([3, 1, 2], work, 3))) == [1, 2, 3]


def test_items_are_taken_when_there_is_room() -> None:
    source = iter(range(100))

    async def first() -> None:
        async for _ in bounded(source, lambda item: asyncio.sleep(0, item), 2):
            break

    asyncio.run(first())
    assert next(source) < 10, "an endless source is not read to its end first"


def test_the_first_error_stops_the_rest_and_no_error_is_left_over() -> None:
    cancelled: list[int] = []
    complaints: list[Any] = []

    async def work(item: int) -> int:
        if item < 3:
            raise ValueError(f"item {item}")
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            cancelled.append(item)
            raise
        return item

    async def run() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        with pytest.raises(ValueError, match="item"):
            await listed(bounded(range(6), work, 6))
        gc.collect()

    asyncio.run(run())
    assert sorted(cancelled) == [3, 4, 5]
    assert complaints == [], "errors beside the first one would be printed with a traceback"


def test_what_work_returns_and_raises_reaches_the_caller() -> None:
    async def fails() -> None:
        raise LookupError("nothing there")

    background = Background()
    assert background.run(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(LookupError, match="nothing there"):
        background.run(fails())
    assert asyncio.run(background.ask(asyncio.sleep(0, "done"))) == "done"
    background.close()


def test_who_stops_waiting_stops_the_work() -> None:
    background, begun, stopped = Background(), threading.Event(), threading.Event()

    async def long() -> None:
        begun.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            stopped.set()
            raise

    async def impatient() -> None:
        asked = asyncio.ensure_future(background.ask(long()))
        await asyncio.to_thread(begun.wait, 60)
        await asyncio.wait_for(asked, 0.05)

    with pytest.raises(TimeoutError):
        asyncio.run(impatient())
    assert stopped.wait(60)
    background.close()


@pytest.mark.parametrize("inside", [False, True], ids=["from another thread", "from its own"])
def test_its_last_work_is_done_wherever_it_is_closed(inside: bool) -> None:
    background, done = Background(), threading.Event()

    async def last() -> None:
        done.set()

    async def close() -> None:
        background.close(last)

    background.run(close()) if inside else background.close(last)
    assert done.wait(5)
    background._thread.join(5)
    assert not background._thread.is_alive()


class Engine:
    """Answers in upper case and notes its batches."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.threads: set[str] = set()

    def run(self, texts: Sequence[str]) -> list[Any]:
        self.batches.append(list(texts))
        self.threads.add(threading.current_thread().name)
        if "explode" in texts:
            raise MemoryError("too large a batch")
        return [ValueError(text) if text.startswith("bad") else text.upper() for text in texts]


def ask(engine: Engine, texts: Sequence[str], size: int = 3) -> list[str]:
    """The answers, and in place of what is raised its name."""

    async def all_of_them() -> list[str]:
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine") as executor:
            batcher: Batcher[str, str] = Batcher(engine.run, len, size, executor)

            async def outcome(text: str) -> str:
                try:
                    return await batcher.ask(text)
                except Exception as error:
                    return f"raised {type(error).__name__}"

            return await asyncio.gather(*map(outcome, texts))

    return asyncio.run(all_of_them())


def test_answers_go_to_their_requests_in_batches_by_length() -> None:
    engine = Engine()
    texts = ["aa", "b", "cccc", "ddd", "eeeee"]
    assert ask(engine, texts) == ["AA", "B", "CCCC", "DDD", "EEEEE"]
    assert engine.batches == [["eeeee", "cccc", "ddd"], ["aa", "b"]], "the longest first: too large shows at once"
    assert len(engine.threads) == 1
    assert next(iter(engine.threads)).startswith("engine"), "not on the event loop's thread"


def test_nothing_is_padded_to_more_than_twice_its_length() -> None:
    engine = Engine()
    texts = ["x" * 40, "y" * 19, "z" * 20, "", "yy" * 9]
    ask(engine, texts)
    # 20 is half of 40 and may go along, 19 is less; the empty one is less than half of anything.
    assert [[len(text) for text in batch] for batch in engine.batches] == [[40, 20], [19, 18], [0]]


@pytest.mark.parametrize(
    ("texts", "answers", "reason"),
    [
        (
            ["good", "bad"],
            ["GOOD", "raised ValueError"],
            "an exception in place of an answer goes to its request alone",
        ),
        (
            ["explode", "longer words", "x"],
            ["raised MemoryError"] * 2 + ["X"],
            "a batch that fails fails its own alone",
        ),
    ],
)
def test_who_gets_an_exception(texts: list[str], answers: list[str], reason: str) -> None:
    assert ask(Engine(), texts, size=2) == answers, reason


def test_loops_that_share_it_at_the_same_time_do_not_wait_for_each_other() -> None:
    """A future of one loop that another loop answered would wake nobody."""
    engine = Engine()
    found: list[list[str]] = []
    with ThreadPoolExecutor(max_workers=1) as executor:
        batcher: Batcher[str, str] = Batcher(engine.run, len, 8, executor)

        async def several(name: str) -> list[str]:
            asked = (batcher.ask(f"{name}{n}") for n in range(5))
            return list(await asyncio.wait_for(asyncio.gather(*asked), 120))

        threads = [threading.Thread(target=lambda name=n: found.append(asyncio.run(several(name)))) for n in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(found) == [[f"{name}{n}" for n in range(5)] for name in "ABCD"]


def test_what_was_given_up_is_not_run() -> None:
    engine = Engine()

    async def run() -> None:
        with ThreadPoolExecutor(max_workers=1) as executor:
            batcher: Batcher[str, str] = Batcher(engine.run, len, 1, executor)
            kept, *given_up = [asyncio.create_task(batcher.ask(text)) for text in ("kept", "one", "other")]
            await asyncio.sleep(0)
            for task in given_up:
                task.cancel()
            assert await kept == "KEPT"

    asyncio.run(run())
    assert engine.batches == [["kept"]]
