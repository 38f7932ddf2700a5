"""What callers of one server share: they pause together, and give up together, but only when nothing comes any more."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable

import pytest

from tests.support import clock
from truebench_hf.engine import gate as module
from truebench_hf.engine.gate import Busy, Gate, GivenUp, Missing, gate_of
from truebench_hf.engine.retry import Paused, Transient


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
        gate, started = Gate(), clock.monotonic()
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
        gate = Gate()
        found = await _keep_failing(gate, 0.15)
        await _outcome(gate, other)
        return [*found, *await _keep_failing(gate, 0.15)]

    assert any(isinstance(one, GivenUp) for one in clock.run(day())) is ends, reason


def test_who_is_still_being_answered_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CONNECTED", 0.1)

    async def day() -> tuple[list[object], object, list[object]]:
        gate = Gate()

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
        gate, found = Gate(), []

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
        gate = Gate()
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
        gate = Gate()
        rounds = [await round_of(gate, 20) for _ in range(4)]
        await _outcome(gate, _fine)
        return rounds, await round_of(gate, 20)

    rounds, afresh = clock.run(day())
    for i, seconds in enumerate(rounds):
        assert 0.5 <= seconds / (0.02 * 2**i) <= 1.6
    assert afresh <= 0.04


def test_one_gate_per_server_for_as_long_as_somebody_holds_it() -> None:
    one, other = gate_of("http://a/v1"), gate_of("http://b/v1")
    assert one is gate_of("http://a/v1")
    assert one is not other
    one.answered = True
    del one
    gc.collect()
    assert not gate_of("http://a/v1").answered


def test_a_limit_per_day_is_not_sat_out() -> None:
    async def day() -> tuple[object, object]:
        gate = Gate()
        return await _outcome(gate, _fails(Busy("429: come back tomorrow", 86_400.0))), await _outcome(gate, _fine)

    stopped, later = clock.run(day())
    assert isinstance(stopped, GivenUp)
    assert "asks to be left alone for 24.0 hours" in str(stopped)
    assert "the same command goes on" in str(stopped)
    assert later == "fine", "and the gate is not shut for a day"
