"""Requests gathered into rounds: which travel together, what is lost, and who hears of an error. Ray plays no part."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from truebench_hf.engine import rounds
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.engine.rounds import TRIES, Rounds
from truebench_hf.errors import UserError


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "_SETTLED", 0.01)
    monkeypatch.setattr(rounds, "_LONGEST", 0.1)


class Engine:
    """Notes its rounds; `answer` says what becomes of a request, None that it is lost."""

    def __init__(self, answer: Callable[[str], str | None] = str.upper) -> None:
        self.rounds: list[list[str]] = []
        self._answer = answer

    def __call__(self, requests: Sequence[str]) -> Iterator[tuple[int, str]]:
        self.rounds.append(list(requests))
        for place, request in reversed(list(enumerate(requests))):  # an order of its own
            if (answer := self._answer(request)) is not None:
                yield place, answer


def ask(engine: Engine, *requests: str) -> tuple[list[str | BaseException], Rounds[str, str]]:
    async def work() -> tuple[list[str | BaseException], Rounds[str, str]]:
        made: Rounds[str, str] = Rounds(engine)
        return await asyncio.gather(*map(made.ask, requests), return_exceptions=True), made

    return asyncio.run(work())


def test_what_is_asked_together_is_one_round() -> None:
    engine = Engine()
    assert ask(engine, "a", "b", "c")[0] == ["A", "B", "C"]
    assert engine.rounds == [["a", "b", "c"]]


def test_what_is_asked_meanwhile_is_the_next_round() -> None:
    engine = Engine()

    async def work() -> list[str]:
        made: Rounds[str, str] = Rounds(engine)

        async def twice(text: str) -> str:
            return await made.ask(await made.ask(text) + "2")

        return await asyncio.gather(*map(twice, "abc"))

    assert asyncio.run(work()) == ["A2", "B2", "C2"]
    assert [sorted(one) for one in engine.rounds] == [["a", "b", "c"], ["A2", "B2", "C2"]]


def test_an_answer_is_there_before_its_round_is_over() -> None:
    go_on = threading.Event()

    def run(requests: Sequence[str]) -> Iterator[tuple[int, str]]:
        yield 0, "first"
        assert go_on.wait(10)
        yield 1, "second"

    async def work() -> list[str]:
        made: Rounds[str, str] = Rounds(run)
        one, two = asyncio.create_task(made.ask("a")), asyncio.create_task(made.ask("b"))
        found = [await one]
        assert not two.done()
        go_on.set()
        return [*found, await two]

    assert asyncio.run(work()) == ["first", "second"]


def test_what_is_lost_is_asked_again_and_counted() -> None:
    lost = {"b", "d"}

    def answer(request: str) -> str | None:
        if request in lost:
            lost.remove(request)
            return None
        return request.upper()

    engine = Engine(answer)
    found, made = ask(engine, *"abcd")
    assert (found, made.lost) == (["A", "B", "C", "D"], 2)
    assert engine.rounds == [["a", "b", "c", "d"], ["b", "d"]]


def test_a_request_that_is_lost_each_time_fails_alone() -> None:
    engine = Engine(lambda request: None if request == "deadly" else request)
    found, made = ask(engine, "a", "deadly")
    assert found[0] == "a"
    assert isinstance(found[1], RequestFailed)
    assert "lost with 3 workers" in str(found[1])
    assert (len(engine.rounds), made.lost) == (TRIES, TRIES - 1)  # so often it was repeated


def test_an_error_of_the_engine_reaches_all_who_wait_and_stops_nothing_else() -> None:
    def answer(request: str) -> str:
        if request == "bad":
            raise UserError("no cluster")
        return request

    async def work() -> None:
        made: Rounds[str, str] = Rounds(Engine(answer))
        found = await asyncio.gather(made.ask("a"), made.ask("bad"), return_exceptions=True)
        assert [str(one) for one in found] == ["no cluster", "no cluster"]
        assert await made.ask("b") == "b"

    asyncio.run(work())


def test_those_that_share_a_turn_never_run_at_once() -> None:
    under_way, most = 0, 0
    lock = threading.Lock()

    def run(requests: Sequence[str]) -> Iterator[tuple[int, str]]:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        threading.Event().wait(0.05)
        with lock:
            under_way -= 1
        yield from enumerate(requests)

    async def work(turn: asyncio.Lock | None) -> int:
        nonlocal most
        most = 0
        made: list[Rounds[str, str]] = [Rounds(run, turn) for _ in range(3)]
        await asyncio.gather(*(one.ask("a") for one in made))
        return most

    async def both() -> tuple[int, int]:
        return await work(asyncio.Lock()), await work(None)

    assert asyncio.run(both()) == (1, 3)


def test_nobody_waits_for_what_was_closed() -> None:
    waits = threading.Event()

    def run(requests: Sequence[str]) -> Iterator[tuple[int, str]]:
        waits.wait(10)
        yield 0, "late"

    async def work() -> None:
        made: Rounds[str, str] = Rounds(run)
        task = asyncio.create_task(made.ask("a"))
        await asyncio.sleep(0.05)
        task.cancel()
        await made.close()

    began = time.monotonic()
    asyncio.run(work())
    assert time.monotonic() - began < 8, "it returned though the round went on"
    waits.set()
