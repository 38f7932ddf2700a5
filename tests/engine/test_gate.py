"""What callers of one server share: they pause together, and give up together, but only when nothing comes any more."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable

import pytest

from tests.support import clock
from truebench_hf.engine import gate as module
from truebench_hf.engine.gate import Busy, Gate, GivenUp, Missing, Unreadable, gate_of
from truebench_hf.engine.retry import Paused, RetryPolicy, Slot, Transient, with_retries


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "time", clock)


async def _fine() -> str:
    return "fine"


def _fails(error: Exception, after: float = 0.0) -> Callable[[], Awaitable[str]]:
    async def ask() -> str:
        await asyncio.sleep(after)
        raise error

    return ask


async def _outcome(gate: Gate, ask: Callable[[], Awaitable[str]], patience: float = 0.2) -> object:
    try:
        return await gate.through(ask, patience)
    except Exception as error:
        return error


async def _keep_failing(gate: Gate, seconds: float, patience: float = 0.2) -> list[object]:
    end, found = clock.monotonic() + seconds, []
    while clock.monotonic() < end:
        found.append(await _outcome(gate, _fails(Missing("gone")), patience))
        await asyncio.sleep(0.02)
    return found


def test_patience_ends_when_nothing_but_want_has_come_for_so_long() -> None:
    async def day() -> tuple[list[object], float]:
        gate, started = Gate("http://a/v1"), clock.monotonic()
        found: list[object] = []
        while not any(isinstance(one, GivenUp) for one in found):
            found.append(await _outcome(gate, _fails(Missing("402: no money", "credit"))))
            await asyncio.sleep(0.01)
        return found, clock.monotonic() - started

    found, took = clock.run(day())
    assert 0.2 <= took < 0.25
    assert all(type(one) is Missing for one in found[:-1])
    told = str(found[-1])
    for part in ("for 0.2 s", "want of credit", "402: no money", "top up", "the same command", "--patience"):
        assert part in told
    assert "\n" not in told


@pytest.mark.parametrize(
    ("other", "ends", "reason"),
    [
        (_fine, False, "an answer"),
        (_fails(Transient("500")), False, "a failure of another kind comes from a server that is there"),
        (_fails(ValueError("a bug")), False, "and so does anything else"),
        (_fails(Busy("429", 0.001)), False, "too busy is not absent"),
        (_fails(Paused("slow")), True, "slow says nothing either way"),
    ],
)
def test_what_starts_patience_anew(other: Callable[[], Awaitable[str]], ends: bool, reason: str) -> None:
    async def day() -> list[object]:
        gate = Gate("http://a/v1")
        found = await _keep_failing(gate, 0.15)
        await _outcome(gate, other)
        return [*found, *await _keep_failing(gate, 0.15)]

    assert any(isinstance(one, GivenUp) for one in clock.run(day())) is ends, reason


def test_who_is_still_being_answered_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CONNECTED", 0.1)

    async def day() -> tuple[list[object], object, list[object]]:
        gate = Gate("http://a/v1")

        async def slow() -> str:
            await asyncio.sleep(0.6)
            return "fine"

        long = asyncio.create_task(_outcome(gate, slow))
        await asyncio.sleep(0)
        during = await _keep_failing(gate, 0.5)
        return during, await long, await _keep_failing(gate, 0.15)

    during, answer, after = clock.run(day())
    assert answer == "fine"
    assert {type(one) for one in [*during, *after]} == {Missing}, "tried on, and nobody gave up"


def test_those_who_may_hang_in_connecting_are_let_finish_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connecting to a machine that is off takes as long as it may; somebody is always at it."""
    monkeypatch.setattr(module, "_CONNECTED", 0.3)

    async def day() -> list[object]:
        gate, found = Gate("http://a/v1"), []

        async def caller(start: float) -> None:
            await asyncio.sleep(start)
            while not any(isinstance(one, GivenUp) for one in found):
                found.append(await _outcome(gate, _fails(Missing("no route"), 0.15)))
                await asyncio.sleep(0.01)

        async with asyncio.timeout(3):
            await asyncio.gather(*(caller(i * 0.05) for i in range(4)))
        return found

    found = clock.run(day())
    assert sum(isinstance(one, GivenUp) for one in found) == 1
    assert any(isinstance(one, Paused) for one in found), "new calls were held back"


def test_after_a_busy_all_pause_together() -> None:
    async def day() -> None:
        gate = Gate("http://a/v1")
        first = await _outcome(gate, _fails(Busy("429 slow down", 0.3)))
        assert isinstance(first, Paused)
        assert 0.3 <= (first.seconds or 0) <= 0.4
        second = await _outcome(gate, _fine)
        assert isinstance(second, Paused)
        assert not second.asked
        assert "429" in str(second)
        await asyncio.sleep(second.seconds or 0)
        assert await _outcome(gate, _fine) == "fine"

    clock.run(day())


def test_without_a_wish_of_the_server_pauses_grow_by_rounds_not_by_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_PAUSE", 0.02)

    async def round_of(gate: Gate, callers: int) -> float:
        found = await asyncio.gather(*(_outcome(gate, _fails(Busy("429"), 0.001)) for _ in range(callers)))
        longest = max(one.seconds or 0 for one in found if isinstance(one, Paused))
        await asyncio.sleep(longest)
        return longest

    async def day() -> tuple[list[float], float]:
        gate = Gate("http://a/v1")
        rounds = [await round_of(gate, 20) for _ in range(4)]
        await _outcome(gate, _fine)
        return rounds, await round_of(gate, 20)

    rounds, afresh = clock.run(day())
    for i, seconds in enumerate(rounds):
        assert 0.5 <= seconds / (0.02 * 2**i) <= 1.6
    assert afresh <= 0.04


def test_one_gate_per_server_and_event_loop() -> None:
    async def gates() -> tuple[Gate, Gate, Gate]:
        return gate_of("http://a/v1"), gate_of("http://a/v1"), gate_of("http://b/v1")

    one, again, other = asyncio.run(gates())
    assert one is again
    assert one is not other
    one.answered = True
    assert not asyncio.run(gates())[0].answered, (
        "another run knows nothing of it, though somebody still holds the first"
    )


def test_a_limit_per_day_is_not_sat_out() -> None:
    async def day() -> tuple[object, object]:
        gate = Gate("http://a/v1")
        return await _outcome(gate, _fails(Busy("429: come back tomorrow", 86_400.0))), await _outcome(gate, _fine)

    stopped, later = clock.run(day())
    assert isinstance(stopped, GivenUp)
    assert "asks to be left alone for 24.0 hours" in str(stopped)
    assert "the same command goes on" in str(stopped)
    assert later == "fine", "and the gate is not shut for a day"


def _calls(gate: Gate, ask: Callable[[], Awaitable[str]], callers: int, at_once: int) -> list[object]:
    """What so many callers get who repeat their calls, some at a time, one gate before them."""

    async def day() -> list[object]:
        slots = asyncio.Semaphore(at_once)

        async def caller() -> str:
            async with Slot(slots):
                return await with_retries(lambda: gate.through(ask, 60.0), RetryPolicy())

        return await asyncio.gather(*(caller() for _ in range(callers)), return_exceptions=True)

    return clock.run(day())


def test_a_long_wait_is_said_and_one_call_a_minute_tries_whether_it_is_over(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[float] = []

    async def ask() -> str:
        asked.append(clock.monotonic() - 1000)  # where the clock of the tests begins
        await asyncio.sleep(0.01)
        if len(asked) < 11:
            raise Busy("429: slow down", 3000.0)
        return "fine"

    assert _calls(Gate("http://a/v1"), ask, 40, at_once=8) == ["fine"] * 40
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
    errors: list[Exception] = [Busy("429", 50.0)]

    async def ask() -> str:
        if errors:
            raise errors.pop()
        return "fine"

    assert _calls(Gate("http://a/v1"), ask, 4, at_once=1) == ["fine"] * 4
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("outcome", "over", "reason"),
    [
        (_fails(Transient("500")), True, "it takes calls again, whatever becomes of this one"),
        (_fails(Missing("502")), False, "nobody there to take any"),
        (_fails(Paused("slow")), False, "nothing is known yet"),
    ],
)
def test_what_a_probe_may_find(outcome: Callable[[], Awaitable[str]], over: bool, reason: str) -> None:
    async def day() -> object:
        gate = Gate("http://a/v1")
        await _outcome(gate, _fails(Busy("429", 3000.0)))
        await asyncio.sleep(60)
        await _outcome(gate, outcome)
        return await _outcome(gate, _fine)

    assert (clock.run(day()) == "fine") is over, reason


def test_where_nothing_readable_ever_came_the_third_call_in_a_row_is_the_last() -> None:
    asked: list[int] = []

    async def ask() -> str:
        asked.append(1)
        await asyncio.sleep(0.01)
        raise Unreadable("no JSON: <html>")

    found = _calls(Gate("http://a/v1"), ask, 1, at_once=1)
    assert (len(asked), type(found[0])) == (3, GivenUp)
    assert str(found[0]).startswith("no OpenAI-compatible API at http://a/v1: 3 tries brought nothing that can be read")
    asked.clear()
    found = _calls(Gate("http://a/v1"), ask, 40, at_once=8)
    assert any(isinstance(error, GivenUp) for error in found)
    # 8 are under way together when the first one fails, which counts as one; then one at a time, until a run would stop
    assert asked[:10] == [1] * 10


def test_after_any_answer_what_cannot_be_read_is_one_requests_trouble() -> None:
    async def day() -> list[object]:
        gate = Gate("http://a/v1")
        await _outcome(gate, _fails(Unreadable("a page")))
        await _outcome(gate, _fine)
        return [await _outcome(gate, _fails(Unreadable("a page"))) for _ in range(9)]

    assert {type(error) for error in clock.run(day())} == {Unreadable}
