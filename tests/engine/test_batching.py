"""A batch engine behind single requests: like lengths together, the longest first, errors to whom they belong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from truebench_hf.engine.pool import Batcher


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


def ask(engine: Engine, texts: Sequence[str], size: int = 3) -> list[Any]:
    async def all_of_them() -> list[Any]:
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine") as executor:
            batcher: Batcher[str, str] = Batcher(engine.run, len, size, executor)
            return list(await asyncio.gather(*map(batcher.ask, texts), return_exceptions=True))

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


def test_an_exception_in_place_of_an_answer_goes_to_that_request_alone() -> None:
    good, bad = ask(Engine(), ["good", "bad"])
    assert good == "GOOD"
    assert isinstance(bad, ValueError)


def test_a_batch_that_fails_fails_its_own_requests_only() -> None:
    engine = Engine()
    found = ask(engine, ["explode", "longer words", "x"], size=2)
    assert [type(item) for item in found] == [MemoryError, MemoryError, str]


def test_requests_that_come_later_join_the_next_batch() -> None:
    engine = Engine()

    async def conversation(batcher: Batcher[str, str], text: str) -> str:
        return await batcher.ask(await batcher.ask(text) + "!")

    async def run() -> list[str]:
        with ThreadPoolExecutor(max_workers=1) as executor:
            batcher: Batcher[str, str] = Batcher(engine.run, len, 8, executor)
            return list(await asyncio.gather(*(conversation(batcher, text) for text in ("a", "b"))))

    assert asyncio.run(run()) == ["A!", "B!"]
    assert engine.batches == [["a", "b"], ["A!", "B!"]]


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
