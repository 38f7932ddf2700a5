"""Repeated calls: tries, waits and the deadline of one request, and what all callers of one server share."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from tests.support import clock
from truebench_hf.engine import retry
from truebench_hf.engine.retry import (
    CircuitBreaker,
    RequestFailed,
    RetryPolicy,
    ServerUnavailable,
    Slot,
    TryAgain,
    breaker_of,
)

FAST = RetryPolicy(attempts=4, first_wait=0.001, longest_wait=0.01, deadline=30.0)
Ask = Callable[[], Awaitable[str]]


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "time", clock)


def ask(call: Ask, policy: RetryPolicy = FAST) -> Coroutine[Any, Any, str]:
    """The answer of a server that nobody else asks."""
    return CircuitBreaker("http://a/v1").ask(call, policy)


def busy(message: str = "429", wait: float | None = None) -> TryAgain:
    return TryAgain(message, "busy", wait)


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


def test_failures_are_tried_again() -> None:
    server = Server(TryAgain("one"), TryAgain("two"))
    assert clock.run(ask(server)) == "fine"
    assert len(server.times) == 3


def test_the_last_reason_is_told_when_tries_run_out() -> None:
    server = Server(*(TryAgain(f"failure {i}") for i in range(9)))
    with pytest.raises(RequestFailed, match="gave up after 4 tries: failure 3"):
        clock.run(ask(server))
    assert len(server.times) == 4


@pytest.mark.parametrize(
    "error", [ValueError("a bug"), RequestFailed("does not fit"), KeyError("x"), TimeoutError("its own, not ours")]
)
def test_anything_else_is_raised_as_it_is(error: Exception) -> None:
    server = Server(error)
    with pytest.raises(type(error)) as caught:
        clock.run(ask(server))
    assert caught.value is error
    assert len(server.times) == 1


@pytest.mark.parametrize(
    ("wait", "at_least", "reason"),
    [(0.2, 0.2, "the server's wish"), (0.0, 0.0, "no wait asked"), (None, 0.0, "nothing asked")],
)
def test_retry_after(wait: float | None, at_least: float, reason: str) -> None:
    server = Server(TryAgain("500", wait=wait))
    clock.run(ask(server))
    assert at_least <= server.times[1] - server.times[0] <= at_least + FAST.first_wait, reason


@pytest.mark.parametrize("error", [TryAgain("500", wait=60.0), busy("500", 60.0)])
def test_a_wait_beyond_the_deadline_is_not_begun(error: TryAgain) -> None:
    assert failed(ask(Server(error)), "gave up after 1 tries: 500") == 0


def test_waits_are_jittered_and_capped() -> None:
    async def gaps() -> list[float]:
        servers = [Server(*(TryAgain("x") for _ in range(5))) for _ in range(20)]
        policy = RetryPolicy(attempts=6, first_wait=0.01, longest_wait=0.04, deadline=5.0)
        await asyncio.gather(*(ask(server, policy) for server in servers))
        return [server.times[5] - server.times[4] for server in servers]

    found = clock.run(gaps())
    assert max(found) <= 0.04 + 1e-9, "capped"
    assert len({round(gap, 3) for gap in found}) > 5, "clients that failed together do not come back together"


@pytest.mark.parametrize(
    ("errors", "message", "reason"),
    [
        ([], "no answer within the deadline of 0.2 s$", "a call that hangs is cut off"),
        ([TryAgain("500")], "no answer within the deadline of 0.2 s; before: 500", "and so is a second one"),
    ],
)
def test_a_hanging_call_ends_at_the_deadline(errors: list[TryAgain], message: str, reason: str) -> None:
    async def call() -> str:
        if errors:
            raise errors.pop(0)
        await asyncio.sleep(30)
        return "too late"

    took = failed(ask(call, RetryPolicy(first_wait=0.001, longest_wait=0.01, deadline=0.2)), message)
    assert took == pytest.approx(0.2), reason


def test_a_failure_may_be_worth_fewer_tries_than_others() -> None:
    server = Server(TryAgain("500"), *(TryAgain("nobody there", tries=3) for _ in range(9)))
    with pytest.raises(RequestFailed, match="gave up after 3 tries: nobody there") as caught:
        clock.run(ask(server))
    assert isinstance(caught.value.__cause__, TryAgain), "the reason stays within reach"


def test_by_default_a_busy_minute_is_outlasted() -> None:
    """Waits are drawn evenly below a ceiling that doubles up to the longest wait: half of it on average."""
    policy = RetryPolicy()
    ceilings = [min(policy.longest_wait, policy.first_wait * 2**i) for i in range(policy.attempts - 1)]
    assert sum(ceilings) / 2 > 120
    assert sum(ceilings) < policy.deadline


def test_a_pause_uses_up_no_try() -> None:
    server = Server(*(busy(wait=0.001) for _ in range(20)), TryAgain("x"), *(busy(wait=0.001) for _ in range(3)))
    assert clock.run(ask(server, replace(FAST, attempts=2))) == "fine"
    assert len(server.times) == 25


def test_a_later_pause_beyond_the_deadline_is_not_begun() -> None:
    assert failed(ask(Server(TryAgain("one"), busy("429", 60.0))), "gave up after 2 tries: 429") < 0.1


POLICY = RetryPolicy(attempts=3, first_wait=0.2, longest_wait=0.2, deadline=30.0)


class Shop:
    """Two counters at most; some customers are sent away once and come back later."""

    def __init__(self, sent_away: dict[int, Exception], takes: float = 0.02) -> None:
        self.slots = asyncio.Semaphore(2)
        self.sent_away, self.takes = sent_away, takes
        self.now = self.most = 0
        self.served: list[int] = []

    async def visit(self, customer: int, policy: RetryPolicy = POLICY) -> None:
        async def serve() -> str:
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(self.takes)
            self.now -= 1
            if customer in self.sent_away:
                raise self.sent_away.pop(customer)
            self.served.append(customer)
            return ""

        async with Slot(self.slots):
            await ask(serve, policy)


def test_others_are_served_while_one_waits() -> None:
    async def day() -> tuple[Shop, float]:
        shop = Shop({0: TryAgain("no", wait=0.5), 1: busy("no", 0.4)})
        started = clock.monotonic()
        await asyncio.gather(*map(shop.visit, range(20)))
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
        shop = Shop({0: TryAgain("no")}, takes=0.1)
        others = [asyncio.create_task(shop.visit(i)) for i in range(1, 30)]  # 1.5 s for all, two at a time
        await shop.visit(0, replace(POLICY, first_wait=0.001, deadline=0.8))
        await asyncio.gather(*others)
        return shop

    assert 0 in clock.run(day()).served


def test_cancelling_gives_back_what_is_held_and_no_more() -> None:
    async def day() -> None:
        shop = Shop({i: busy(wait=20.0) for i in range(4)})
        visits = [asyncio.create_task(shop.visit(i)) for i in range(8)]
        await asyncio.sleep(0.2)
        for visit in visits:
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)
        assert shop.slots._value == 2

    clock.run(day())


async def _fine() -> str:
    return "fine"


def _fails(error: Exception, after: float = 0.0) -> Ask:
    async def call() -> str:
        await asyncio.sleep(after)
        raise error

    return call


async def _outcome(breaker: CircuitBreaker, call: Ask, patience: float = 0.2) -> object:
    try:
        return await breaker.through(call, object(), patience)
    except Exception as error:
        return error


async def _keep_failing(breaker: CircuitBreaker, seconds: float, patience: float = 0.2) -> list[object]:
    end, found = clock.monotonic() + seconds, []
    while clock.monotonic() < end:
        found.append(await _outcome(breaker, _fails(TryAgain("502", "gone")), patience))
        await asyncio.sleep(0.02)
    return found


def test_patience_ends_when_the_server_has_been_gone_for_so_long() -> None:
    async def day() -> tuple[list[object], float]:
        breaker, started = CircuitBreaker("http://a/v1"), clock.monotonic()
        found: list[object] = []
        while not any(isinstance(outcome, ServerUnavailable) for outcome in found):
            found.append(await _outcome(breaker, _fails(TryAgain("404: no such model", "gone"))))
            await asyncio.sleep(0.01)
        return found, clock.monotonic() - started

    found, took = clock.run(day())
    assert 0.2 <= took < 0.25
    assert all(type(outcome) is TryAgain for outcome in found[:-1])
    message = str(found[-1])
    for part in ("for 0.2 s", "404: no such model", "start the server", "the same command", "--patience"):
        assert part in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (_fine, "an answer"),
        (_fails(TryAgain("500")), "a failure of another kind comes from a server that is there"),
        (_fails(ValueError("a bug")), "and so does anything else"),
        (_fails(busy(wait=0.001)), "too busy is not absent"),
    ],
)
def test_what_starts_patience_anew(call: Ask, reason: str) -> None:
    async def day() -> list[object]:
        breaker = CircuitBreaker("http://a/v1")
        found = await _keep_failing(breaker, 0.15)
        await _outcome(breaker, call)
        return [*found, *await _keep_failing(breaker, 0.15)]

    assert not any(isinstance(outcome, ServerUnavailable) for outcome in clock.run(day())), reason


def test_who_is_still_being_answered_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_CONNECTED", 0.1)

    async def day() -> tuple[list[object], object, list[object]]:
        breaker = CircuitBreaker("http://a/v1")

        async def slow() -> str:
            await asyncio.sleep(0.6)
            return "fine"

        long = asyncio.create_task(_outcome(breaker, slow))
        await asyncio.sleep(0)
        during = await _keep_failing(breaker, 0.5)
        return during, await long, await _keep_failing(breaker, 0.15)

    during, answer, after = clock.run(day())
    assert answer == "fine"
    assert {type(outcome) for outcome in [*during, *after]} == {TryAgain}, "tried on, and nobody gave up"


def test_one_breaker_per_server_and_event_loop() -> None:
    async def breakers() -> tuple[CircuitBreaker, CircuitBreaker, CircuitBreaker]:
        return breaker_of("http://a/v1"), breaker_of("http://a/v1"), breaker_of("http://b/v1")

    first, again, other = asyncio.run(breakers())
    assert first is again
    assert first is not other
    first.answered = True
    assert not asyncio.run(breakers())[0].answered, "another run knows nothing of it, though somebody holds the first"


def test_a_limit_per_day_is_not_sat_out() -> None:
    async def day() -> tuple[object, float]:
        breaker = CircuitBreaker("http://a/v1")
        return await _outcome(breaker, _fails(busy("429: come back tomorrow", 86_400.0))), breaker.pause_left("next")

    stopped, shut = clock.run(day())
    assert isinstance(stopped, ServerUnavailable)
    assert "asks to be left alone for 24.0 hours" in str(stopped)
    assert "the same command goes on" in str(stopped)
    assert shut == 0, "and nobody waits for a day"


def test_without_a_wish_of_the_server_pauses_grow_by_rounds_not_by_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_FIRST_PAUSE", 0.02)

    async def round_of(breaker: CircuitBreaker, callers: int) -> float:
        await asyncio.gather(*(_outcome(breaker, _fails(busy(), 0.001)) for _ in range(callers)))
        seconds = breaker.pause_left("next")
        await asyncio.sleep(seconds)
        return seconds

    async def day() -> tuple[list[float], float]:
        breaker = CircuitBreaker("http://a/v1")
        rounds = [await round_of(breaker, 20) for _ in range(4)]
        await _outcome(breaker, _fine)
        return rounds, await round_of(breaker, 20)

    rounds, afresh = clock.run(day())
    for i, seconds in enumerate(rounds):
        assert 0.5 <= seconds / (0.02 * 2**i) <= 1.6
    assert afresh <= 0.04


def _calls(call: Ask, callers: int, at_once: int) -> list[object]:
    """What so many callers of one server get who repeat their calls, some at a time."""

    async def day() -> list[object]:
        breaker, slots = CircuitBreaker("http://a/v1"), asyncio.Semaphore(at_once)

        async def caller() -> str:
            async with Slot(slots):
                return await breaker.ask(call, RetryPolicy())

        return await asyncio.gather(*(caller() for _ in range(callers)), return_exceptions=True)

    return clock.run(day())


def test_a_long_wait_is_said_and_one_call_a_minute_tries_whether_it_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[float] = []

    async def call() -> str:
        asked.append(clock.monotonic() - 1000)  # where the clock of the tests begins
        await asyncio.sleep(0.01)
        if len(asked) < 11:
            raise busy("429: slow down", 3000.0)
        return "fine"

    assert _calls(call, 40, at_once=8) == ["fine"] * 40
    wave, probes, rest = asked[:8], asked[8:11], asked[11:]
    assert max(wave) == 0, "those who were under way together"
    for minute, moment in enumerate(probes, 1):  # a little late, so that not all come at the same moment
        assert 60 * minute <= moment < 60 * minute + minute * 1.1
    assert len(rest) == 39, "all but the probe that was answered"
    assert rest[0] - probes[-1] < 2, "at once when it is over, not after 50 minutes"
    first, *more = capsys.readouterr().err.splitlines()
    assert re.fullmatch(
        r"waiting until \d\d:\d\d, as the server asks: 429: slow down; one request a minute tries whether it is over",
        first,
    )
    assert all(line.startswith("waiting until ") for line in more)
    assert len(more) <= 2, "a line for each probe that moved the time, not for each of those who wait"


def test_a_short_wait_needs_no_word(capsys: pytest.CaptureFixture[str]) -> None:
    errors: list[Exception] = [busy(wait=50.0)]

    async def call() -> str:
        if errors:
            raise errors.pop()
        return "fine"

    assert _calls(call, 4, at_once=1) == ["fine"] * 4
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("outcome", "is_over", "reason"),
    [
        (_fails(TryAgain("500")), True, "it takes calls again, whatever becomes of this one"),
        (_fails(TryAgain("502", "gone")), False, "nobody there to take any"),
    ],
)
def test_what_a_probe_may_find(outcome: Ask, is_over: bool, reason: str) -> None:
    async def day() -> float:
        breaker = CircuitBreaker("http://a/v1")
        await _outcome(breaker, _fails(busy(wait=3000.0)))
        await asyncio.sleep(60)
        probe = object()
        assert breaker.pause_left(probe) == 0
        with pytest.raises(TryAgain):
            await breaker.through(outcome, probe, 60.0)
        return breaker.pause_left("next")

    assert (clock.run(day()) == 0) is is_over, reason


@pytest.mark.parametrize("callers", [1, 40])
def test_where_nothing_readable_ever_came_the_third_call_in_a_row_is_the_last(callers: int) -> None:
    asked: list[int] = []

    async def call() -> str:
        asked.append(1)
        await asyncio.sleep(0.01)
        raise TryAgain("no JSON: <html>", "unreadable")

    found = _calls(call, callers, at_once=8)
    stopped = next(error for error in found if isinstance(error, ServerUnavailable))
    message = "no OpenAI-compatible API at http://a/v1: 3 tries brought nothing that can be read"
    assert str(stopped).startswith(message)
    # Those under way together count as one; then it is one at a time, and the third ends it for whoever asks.
    assert callers > 1 or len(asked) == 3


def test_after_any_answer_what_cannot_be_read_is_one_requests_trouble() -> None:
    async def day() -> list[object]:
        breaker = CircuitBreaker("http://a/v1")
        await _outcome(breaker, _fails(TryAgain("a page", "unreadable")))
        await _outcome(breaker, _fine)
        return [await _outcome(breaker, _fails(TryAgain("a page", "unreadable"))) for _ in range(9)]

    assert {type(error) for error in clock.run(day())} == {TryAgain}
