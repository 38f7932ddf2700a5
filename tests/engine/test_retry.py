"""Retries under a deadline; a call that waits for its next try holds no slot."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import pytest

from tests.support import clock
from truebench_hf.engine.retry import Paused, RequestFailed, RetryPolicy, Slot, Transient, held_slot, with_retries

FAST = RetryPolicy(attempts=4, first_wait=0.001, longest_wait=0.01, deadline=30.0)


class Server:
    """Fails as told, one exception a call, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.times: list[float] = []

    async def __call__(self) -> str:
        self.times.append(clock.monotonic())
        if self.errors:
            raise self.errors.pop(0)
        return "fine"


def failed(call: Coroutine[Any, Any, object], match: str) -> float:
    """The seconds after which a call is given up, which says why."""

    async def timed() -> float:
        started = clock.monotonic()
        with pytest.raises(RequestFailed, match=match):
            await call
        return clock.monotonic() - started

    return clock.run(timed())


def test_transient_failures_are_tried_again() -> None:
    server = Server(Transient("one"), Transient("two"))
    assert clock.run(with_retries(server, FAST)) == "fine"
    assert len(server.times) == 3


def test_the_last_reason_is_told_when_tries_run_out() -> None:
    server = Server(*(Transient(f"failure {i}") for i in range(9)))
    with pytest.raises(RequestFailed, match="gave up after 4 tries: failure 3"):
        clock.run(with_retries(server, FAST))
    assert len(server.times) == 4


@pytest.mark.parametrize(
    "error", [ValueError("a bug"), RequestFailed("does not fit"), KeyError("x"), TimeoutError("its own, not ours")]
)
def test_anything_else_is_raised_as_it_is(error: Exception) -> None:
    server = Server(error)
    with pytest.raises(type(error)) as caught:
        clock.run(with_retries(server, FAST))
    assert caught.value is error
    assert len(server.times) == 1


@pytest.mark.parametrize(
    ("asked", "at_least", "reason"),
    [(0.2, 0.2, "the server's wish"), (0.0, 0.0, "no wait asked"), (None, 0.0, "nothing asked")],
)
def test_retry_after(asked: float | None, at_least: float, reason: str) -> None:
    server = Server(Transient("busy", asked))
    clock.run(with_retries(server, FAST))
    assert at_least <= server.times[1] - server.times[0] <= at_least + FAST.first_wait, reason


def test_a_wait_beyond_the_deadline_is_not_begun() -> None:
    server = Server(Transient("busy", 60.0))
    assert failed(with_retries(server, FAST), "gave up after 1 tries: busy") == 0


def test_the_deadline_ends_it_before_the_tries_do() -> None:
    server = Server(*(Transient("busy", 0.05) for _ in range(100)))
    policy = RetryPolicy(attempts=100, first_wait=0.001, longest_wait=0.01, deadline=0.3)
    with pytest.raises(RequestFailed):
        clock.run(with_retries(server, policy))
    assert 2 <= len(server.times) <= 8


def test_waits_are_jittered_and_capped() -> None:
    async def gaps() -> list[float]:
        servers = [Server(*(Transient("x") for _ in range(5))) for _ in range(20)]
        policy = RetryPolicy(attempts=6, first_wait=0.01, longest_wait=0.04, deadline=5.0)
        await asyncio.gather(*(with_retries(server, policy) for server in servers))
        return [server.times[5] - server.times[4] for server in servers]

    found = clock.run(gaps())
    assert max(found) <= 0.04 + 1e-9, "capped"
    assert len({round(gap, 3) for gap in found}) > 5, "clients that failed together do not come back together"


@pytest.mark.parametrize(
    ("errors", "message", "reason"),
    [
        ([], "no answer within the deadline of 0.2 s$", "a call that hangs is cut off"),
        ([Transient("busy")], "no answer within the deadline of 0.2 s; before: busy", "and so is a second one"),
    ],
)
def test_a_hanging_call_ends_at_the_deadline(errors: list[Transient], message: str, reason: str) -> None:
    async def call() -> str:
        if errors:
            raise errors.pop(0)
        await asyncio.sleep(30)
        return "too late"

    took = failed(with_retries(call, RetryPolicy(first_wait=0.001, longest_wait=0.01, deadline=0.2)), message)
    assert took == pytest.approx(0.2), reason


def test_a_failure_may_be_worth_fewer_tries_than_others() -> None:
    server = Server(Transient("busy"), *(Transient("nobody there", tries=3) for _ in range(9)))
    with pytest.raises(RequestFailed, match="gave up after 3 tries: nobody there") as caught:
        clock.run(with_retries(server, FAST))
    assert isinstance(caught.value.__cause__, Transient), "the reason stays within reach"


def test_by_default_a_busy_minute_is_outlasted() -> None:
    """Waits are drawn evenly below a ceiling that doubles up to the longest wait: half of it on average."""
    policy = RetryPolicy()
    ceilings = [min(policy.longest_wait, policy.first_wait * 2**i) for i in range(policy.attempts - 1)]
    assert sum(ceilings) / 2 > 120
    assert sum(ceilings) < policy.deadline


def test_a_pause_uses_up_no_try() -> None:
    server = Server(*(Paused("busy", 0.001) for _ in range(20)), Transient("x"), *(Paused("busy") for _ in range(5)))
    assert clock.run(with_retries(server, replace(FAST, attempts=2))) == "fine"
    assert len(server.times) == 27


def test_a_pause_beyond_the_deadline_is_not_begun() -> None:
    server = Server(Transient("one"), Paused("busy", 60.0), Paused("never asked"))
    with pytest.raises(RequestFailed, match="gave up after 2 tries: busy"):
        clock.run(with_retries(server, FAST))
    server = Server(Paused("the door is shut", 60.0, asked=False))
    with pytest.raises(RequestFailed, match="gave up after 0 tries: the door is shut"):
        clock.run(with_retries(server, FAST))


def test_pauses_without_an_end_stop_at_the_deadline() -> None:
    server = Server(*(Paused("busy", 0.02) for _ in range(100)))
    with pytest.raises(RequestFailed, match="busy"):
        clock.run(with_retries(server, replace(FAST, deadline=0.2)))
    assert 3 <= len(server.times) <= 11


POLICY = RetryPolicy(attempts=3, first_wait=0.2, longest_wait=0.2, deadline=30.0)


class Shop:
    """Two counters at most; some customers are sent away once and come back later."""

    def __init__(self, sent_away: dict[int, Exception], takes: float = 0.02) -> None:
        self.slots = asyncio.Semaphore(2)
        self.sent_away, self.takes = sent_away, takes
        self.now = self.most = 0
        self.served: list[int] = []

    async def visit(self, customer: int, policy: RetryPolicy = POLICY) -> None:
        async def serve() -> None:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(self.takes)
            self.now -= 1
            if customer in self.sent_away:
                raise self.sent_away.pop(customer)
            self.served.append(customer)

        async with Slot(self.slots):
            await with_retries(serve, policy)


@pytest.mark.parametrize("error", [Transient("no", retry_after=0.5), Paused("busy", 0.5)])
def test_others_are_served_while_one_waits(error: Exception) -> None:
    async def day() -> tuple[Shop, float]:
        shop = Shop({0: error, 1: type(error)(str(error), 0.5)})
        started = clock.monotonic()
        await asyncio.gather(*map(shop.visit, range(20)))
        assert held_slot() is None
        async with asyncio.timeout(1):
            await asyncio.gather(shop.slots.acquire(), shop.slots.acquire())  # all are given back
        return shop, clock.monotonic() - started

    shop, took = clock.run(day())
    assert sorted(shop.served[-2:]) == [0, 1]
    assert len(shop.served) == 20
    assert shop.most == 2
    assert took < 0.6, "not the waits of both and then everyone else"


def test_the_deadline_stands_still_in_line() -> None:
    async def day() -> Shop:
        shop = Shop({0: Transient("no")}, takes=0.1)
        others = [asyncio.create_task(shop.visit(i)) for i in range(1, 30)]  # 1.5 s for all, two at a time
        await shop.visit(0, replace(POLICY, first_wait=0.001, deadline=0.8))
        await asyncio.gather(*others)
        return shop

    assert 0 in clock.run(day()).served


def test_the_deadline_still_ends_what_hangs_after_the_line() -> None:
    async def day() -> None:
        slots, tries = asyncio.Semaphore(1), []

        async def call() -> None:
            tries.append(1)
            if len(tries) == 1:
                raise Transient("no")
            await asyncio.sleep(30)

        async with Slot(slots):
            await with_retries(call, replace(POLICY, first_wait=0.001, deadline=0.3))

    assert failed(day(), r"deadline of 0\.3 s; before: no") == pytest.approx(0.3)


def test_cancelling_gives_back_what_is_held_and_no_more() -> None:
    async def day() -> None:
        shop = Shop({i: Paused("busy", 30.0) for i in range(4)})
        visits = [asyncio.create_task(shop.visit(i)) for i in range(8)]
        await asyncio.sleep(0.2)
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)
        assert shop.slots._value == 2

    clock.run(day())
