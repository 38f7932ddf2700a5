"""Repeated calls: tries, waits and the deadline of one request, and what all callers of one server share."""

from __future__ import annotations

import asyncio
import re
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from truebench_hf.engine import retry
from truebench_hf.engine.retry import (
    CircuitBreaker,
    RequestFailed,
    RetryPolicy,
    ServerUnavailable,
    TryAgain,
    breaker_of,
)

T = TypeVar("T")


class Waits(selectors.DefaultSelector):
    """Time that is made of waits alone: it jumps to the next one, whatever the machine does meanwhile."""

    now = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return super().select(0.0)


class Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._waits = Waits()
        super().__init__(self._waits)

    def time(self) -> float:
        return self._waits.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`."""
    with asyncio.Runner(loop_factory=Loop) as runner:
        return runner.run(main)


def monotonic() -> float:
    """Seconds, within `run`."""
    return asyncio.get_running_loop().time()


FAST = RetryPolicy(attempts=4, first_wait=0.001, longest_wait=0.01, deadline=30.0)
ONCE = replace(FAST, attempts=1, patience=0.2)
URL = "http://a/v1"
Ask = Callable[[], Awaitable[str]]


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "time", SimpleNamespace(monotonic=monotonic))


class Server:
    """Fails as told, one exception a call, then answers; each call takes a while, and the one that is answered `last`."""

    def __init__(self, *errors: Exception, takes: float = 0.0, last: float = 0.0) -> None:
        self.errors, self.takes, self.last = list(errors), takes, last
        self.times: list[float] = []

    async def __call__(self) -> str:
        self.times.append(monotonic() - 1000)  # where the clock of the tests begins
        await asyncio.sleep(self.takes)
        if self.errors:
            raise self.errors.pop(0)
        await asyncio.sleep(self.last)
        return "fine"


def ask(call: Ask, policy: RetryPolicy = FAST) -> Coroutine[Any, Any, str]:
    """The answer of a server that nobody else asks."""
    return CircuitBreaker(URL).ask(call, policy)


def busy(message: str = "429", wait: float | None = None) -> TryAgain:
    return TryAgain(message, "busy", wait)


def gone(message: str = "502") -> TryAgain:
    return TryAgain(message, "gone")


@pytest.mark.parametrize(
    ("errors", "policy", "tries", "reason"),
    [
        ([TryAgain("one"), TryAgain("two")], FAST, 3, "failures are tried again"),
        ([busy(wait=0.001)] * 20 + [TryAgain("x")] + [busy(wait=0.001)] * 3, replace(FAST, attempts=2), 25, "a pause uses up no try"),
    ],
)  # fmt: skip
def test_what_passes_is_answered(errors: list[Exception], policy: RetryPolicy, tries: int, reason: str) -> None:
    server = Server(*errors)
    assert run(ask(server, policy)) == "fine"
    assert len(server.times) == tries, reason


HANGS = replace(FAST, attempts=14, deadline=0.2)


@pytest.mark.parametrize(
    ("errors", "policy", "message", "seconds", "reason"),
    [
        ([TryAgain(f"failure {i}") for i in range(9)], FAST, "up after 4 tries: failure 3$", (0, 0.03), "the last reason"),
        ([TryAgain("500"), *[TryAgain("nobody", tries=3)] * 9], FAST, "up after 3 tries: nobody$", (0, 0.03), "fewer tries"),
        ([TryAgain("500", wait=60.0)], FAST, "up after 1 tries: 500$", (0, 0), "a wait beyond the deadline is not begun"),
        ([busy("429", 60.0)], FAST, "up after 1 tries: 429$", (0, 0), "nor is such a pause"),
        ([TryAgain("one"), busy("429", 60.0)], FAST, "up after 2 tries: 429$", (0, 0.01), "nor a later one"),
        ([], HANGS, "no answer within the deadline of 0.2 s$", (0.2, 0.2), "a call that hangs"),
        ([TryAgain("500")], HANGS, "0.2 s; before: 500$", (0.2, 0.2), "a later one"),
    ],
)  # fmt: skip
def test_what_does_not_pass_is_given_up(
    errors: list[Exception], policy: RetryPolicy, message: str, seconds: tuple[float, float], reason: str
) -> None:
    async def timed() -> float:
        with pytest.raises(RequestFailed, match=message) as caught:
            await ask(Server(*errors, last=30), policy)
        assert not errors or isinstance(caught.value.__cause__, TryAgain), "the reason stays within reach"
        return monotonic() - 1000

    least, most = seconds
    assert least - 1e-9 <= run(timed()) <= most + 1e-9, reason


@pytest.mark.parametrize("error", [ValueError("a bug"), RequestFailed("too long"), TimeoutError("its own, not ours")])
def test_anything_else_is_raised_as_it_is(error: Exception) -> None:
    server = Server(error)
    with pytest.raises(type(error)) as caught:
        run(ask(server))
    assert (caught.value, len(server.times)) == (error, 1)


@pytest.mark.parametrize(("wait", "at_least"), [(0.2, 0.2), (0.0, 0.0), (None, 0.0)])
def test_the_wait_that_a_server_asks_for_is_kept(wait: float | None, at_least: float) -> None:
    server = Server(TryAgain("500", wait=wait))
    run(ask(server))
    assert at_least <= server.times[1] - server.times[0] <= at_least + FAST.first_wait


def test_waits_are_jittered_and_capped() -> None:
    async def gaps() -> list[float]:
        servers = [Server(*(TryAgain("x") for _ in range(5))) for _ in range(20)]
        policy = RetryPolicy(attempts=6, first_wait=0.01, longest_wait=0.04, deadline=5.0)
        await asyncio.gather(*(ask(server, policy) for server in servers))
        return [server.times[5] - server.times[4] for server in servers]

    found = run(gaps())
    assert max(found) <= 0.04 + 1e-9, "capped"
    assert len({round(gap, 3) for gap in found}) > 5, "clients that failed together do not come back together"


async def _outcome(breaker: CircuitBreaker, call: Ask) -> Exception | None:
    """What one try comes to; None for an answer."""
    try:
        await breaker.ask(call, ONCE)
    except Exception as error:
        return error
    return None


async def _keep_failing(breaker: CircuitBreaker, seconds: float) -> list[Exception | None]:
    end, found = monotonic() + seconds, list[Exception | None]()
    while monotonic() < end:
        found.append(await _outcome(breaker, Server(gone("404: no such model"))))
        await asyncio.sleep(0.02)
    return found


def test_patience_ends_when_the_server_has_been_gone_for_so_long() -> None:
    found = run(_keep_failing(CircuitBreaker(URL), 0.25))
    stopped = next(number for number, outcome in enumerate(found) if isinstance(outcome, ServerUnavailable))
    assert stopped in (10, 11), "one every 0.02 s"
    message = str(found[stopped])
    for part in ("for 0.2 s", "404: no such model", "start the server", "the same command", "patience=SECONDS"):
        assert part in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        ([], "an answer"),
        ([TryAgain("500")], "a failure of another kind comes from a server that is there"),
        ([ValueError("a bug")], "and so does anything else"),
        ([busy(wait=0.001)], "too busy is not absent"),
    ],
)
def test_what_starts_patience_anew(outcome: list[Exception], reason: str) -> None:
    async def day() -> list[Exception | None]:
        breaker = CircuitBreaker(URL)
        found = await _keep_failing(breaker, 0.15)
        await _outcome(breaker, Server(*outcome))
        return [*found, *await _keep_failing(breaker, 0.15)]

    assert not any(isinstance(outcome, ServerUnavailable) for outcome in run(day())), reason


def test_who_is_still_being_answered_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "_CONNECTED", 0.1)

    async def day() -> list[Exception | None]:
        breaker = CircuitBreaker(URL)
        long = asyncio.create_task(_outcome(breaker, Server(takes=0.6)))
        await asyncio.sleep(0)
        during = await _keep_failing(breaker, 0.5)
        assert await long is None
        return [*during, *await _keep_failing(breaker, 0.15)]

    assert {type(outcome) for outcome in run(day())} == {RequestFailed}, "tried on, and nobody gave up"


def test_one_breaker_per_server_and_event_loop() -> None:
    async def breakers() -> list[CircuitBreaker]:
        return [breaker_of(URL), breaker_of(URL), breaker_of("http://b/v1")]

    first, again, other = asyncio.run(breakers())
    assert first is again is not other
    first.answered = True
    assert not asyncio.run(breakers())[0].answered, "another run knows nothing of it, though somebody holds the first"


def test_a_limit_per_day_is_not_sat_out() -> None:
    async def day() -> list[Exception | None]:
        breaker = CircuitBreaker(URL)
        calls = Server(busy("429: come back tomorrow", 86_400.0)), Server()
        return [await _outcome(breaker, call) for call in calls]

    stopped, answered = run(day())
    assert isinstance(stopped, ServerUnavailable)
    assert "asks to be left alone for 24.0 hours: 429: come back tomorrow; the same command goes on" in str(stopped)
    assert answered is None, "and nobody waits for a day"


def _many(call: Ask, callers: int, at_once: int) -> list[Any]:
    """What so many callers of one server get who repeat their calls, some at a time."""

    async def day() -> list[object]:
        breaker, slots = CircuitBreaker(URL), asyncio.Semaphore(at_once)

        async def caller() -> str:
            async with slots:
                return await breaker.ask(call, RetryPolicy())

        return await asyncio.gather(*(caller() for _ in range(callers)), return_exceptions=True)

    return run(day())


def test_without_a_wish_of_the_server_pauses_grow_by_rounds_not_by_callers() -> None:
    times: list[float] = []

    async def call() -> str:
        times.append(monotonic() - 1000)
        await asyncio.sleep(0.001)
        if times[-1] < 10:
            raise busy()
        return "fine"

    assert _many(call, 20, at_once=20) == ["fine"] * 20
    assert max(times) < 40, "half a second, one, two, four, eight, sixteen, and not a minute at once"
    assert len(times) < 20 * 7


def test_a_long_wait_is_said_and_one_call_a_minute_tries_whether_it_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(*(busy("429: slow down", 3000.0) for _ in range(10)), takes=0.01)
    assert _many(server, 40, at_once=8) == ["fine"] * 40
    wave, probes, rest = server.times[:8], server.times[8:11], server.times[11:]
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
    assert _many(Server(busy(wait=50.0)), 4, at_once=1) == ["fine"] * 4
    assert capsys.readouterr().err == "", "a short wait needs no word"


@pytest.mark.parametrize(
    ("outcome", "until", "reason"),
    [
        (TryAgain("500"), 65, "it takes calls again, whatever becomes of this one"),
        (gone(), 120, "nobody there to take any"),
    ],
)
def test_what_a_probe_may_find(outcome: Exception, until: float, reason: str) -> None:
    server = Server(busy(wait=3000.0), outcome, takes=0.01)
    assert _many(server, 2, at_once=1) == ["fine"] * 2
    assert (server.times[2] < until) is (until < 100), reason


def test_after_a_first_unreadable_wave_all_are_answered() -> None:
    server = Server(*(TryAgain("no JSON", "unreadable") for _ in range(8)), takes=0.01)
    assert _many(server, 20, at_once=8) == ["fine"] * 20
