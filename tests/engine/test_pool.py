"""Bounded work: never more than allowed, every result once, the first error stops all and leaves nothing behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from truebench_hf.engine.pool import bounded


async def listed(stream: AsyncIterator[int]) -> list[int]:
    return [item async for item in stream]


@pytest.mark.parametrize(("limit", "number"), [(1, 5), (3, 20), (50, 5), (4, 0)])
def test_every_item_once_and_no_more_at_once_than_allowed(limit: int, number: int) -> None:
    running: list[int] = []
    most = 0

    async def work(item: int) -> int:
        nonlocal most
        running.append(item)
        most = max(most, len(running))
        await asyncio.sleep(0.001 * (item % 3))
        running.remove(item)
        return item * 10

    assert sorted(asyncio.run(listed(bounded(range(number), work, limit)))) == [i * 10 for i in range(number)]
    assert most <= limit


def test_results_come_as_they_are_done() -> None:
    async def work(item: int) -> int:
        await asyncio.sleep(0.05 * item)
        return item

    assert asyncio.run(listed(bounded([3, 1, 2], work, 3))) == [1, 2, 3]


def test_items_are_taken_when_there_is_room() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(100):
            taken.append(i)
            yield i

    async def first() -> None:
        async def work(item: int) -> int:
            return item

        async for _ in bounded(items(), work, 2):
            break

    asyncio.run(first())
    assert len(taken) < 10, "an endless source is not read to its end first"


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
