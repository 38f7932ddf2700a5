"""The loop in a thread of its own: what it returns, raises and cancels, and how it ends."""

from __future__ import annotations

import asyncio
import threading

import pytest

from truebench_hf.engine.pool import Background


async def fails() -> None:
    raise LookupError("nothing there")


def test_what_work_returns_and_raises_reaches_the_caller() -> None:
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

    if inside:
        background.run(close())
    else:
        background.close(last)
    assert done.wait(5)
    background._thread.join(5)
    assert not background._thread.is_alive()
