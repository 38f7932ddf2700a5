"""Retries under a deadline, with exponential backoff and jitter, honouring Retry-After.

Calls under way are bounded by slots; a call that only waits for its next try holds none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")
_HELD: ContextVar[Slot | None] = ContextVar("slot", default=None)


class RequestFailed(Exception):
    """This one request cannot be answered (retries used up, or the prompt does not fit); others may go on."""


class Transient(Exception):
    """A failure worth another try, `tries` in all at most where the policy's number would be in vain.

    `retry_after`: seconds the server asked to wait, where it did.
    """

    def __init__(self, message: str, retry_after: float | None = None, tries: int | None = None) -> None:
        super().__init__(message)
        self.retry_after, self.tries = retry_after, tries


class Paused(Exception):
    """No failure but a wait, which uses up no try: the server is busy, or took longer than a call may.

    `seconds` until the next try (None: the policy's first wait); `asked` is False where nothing was sent.
    """

    def __init__(self, message: str, seconds: float | None = None, *, asked: bool = True) -> None:
        super().__init__(message)
        self.seconds, self.asked = seconds, asked


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Tries, and seconds: first wait, longest wait, and the deadline over all tries and waits of one request.

    The first waits are short, since at the end of a run nothing else is under way meanwhile; fourteen tries span over
    two minutes on average, so that a server may be away for a while. The deadline allows for one call of half an hour
    and the failures before it.
    """

    attempts: int = 14
    first_wait: float = 0.1
    longest_wait: float = 60.0
    deadline: float = 3600.0


class Slot:
    """One of the calls that may be under way at a time (`slots`), for the length of a block; see `held_slot`."""

    def __init__(self, slots: asyncio.Semaphore) -> None:
        self._slots = slots
        self._taken = False
        self._before: Token[Slot | None] | None = None

    async def take(self) -> None:
        """Wait until another call may be under way."""
        await self._slots.acquire()
        self._taken = True

    def leave(self) -> None:
        """Let another call be under way."""
        if self._taken:
            self._taken = False
            self._slots.release()

    async def __aenter__(self) -> Slot:
        await self.take()
        self._before = _HELD.set(self)
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._before is not None:
            _HELD.reset(self._before)
        self.leave()


def held_slot() -> Slot | None:
    """The slot that the current call holds, None where nothing limits it."""
    return _HELD.get()


async def with_retries(call: Callable[[], Awaitable[T]], policy: RetryPolicy) -> T:
    """Await `call()`, again after each Transient, until it answers or the policy's tries or time are used up.

    Then raises RequestFailed from the last Transient; a call still under way at the deadline is cancelled. After a
    Paused it is called again without using up a try. Waits hold no slot, and the deadline does not run while a call
    that has waited stands in line for a slot again.
    """
    # Before any call, not when one has failed: where too many files are open nothing can be loaded any more.
    import tenacity  # noqa: F401

    loop = asyncio.get_running_loop()
    last: Transient | Paused | None = None
    asked = 0

    def late(seconds: float) -> bool:
        # The coming wait counts too: a Retry-After beyond the deadline is not slept through in vain.
        end = limit.when()
        return end is not None and loop.time() + seconds > end

    async def noted() -> T:
        nonlocal last, asked
        while True:
            try:
                asked += 1
                return await call()
            except Transient as error:
                last = error
                raise
            except Paused as pause:
                last, seconds = pause, policy.first_wait if pause.seconds is None else pause.seconds
                asked -= not pause.asked
                if late(seconds):
                    raise RequestFailed(f"gave up after {asked} tries: {pause}") from pause
                await _rest(seconds, limit)

    try:
        async with asyncio.timeout(policy.deadline) as limit:
            try:
                return await noted()  # of nearly all calls the only try
            except Transient as error:
                return await _again(noted, error, policy, late, lambda seconds: _rest(seconds, limit))
    except Transient:
        raise RequestFailed(f"gave up after {asked} tries: {last}") from last
    except TimeoutError:
        if not limit.expired():
            raise
        before = f"; before: {last}" if last else ""
        raise RequestFailed(f"no answer within the deadline of {policy.deadline:g} s{before}") from last


async def _again(
    call: Callable[[], Awaitable[T]],
    failed: Transient,
    policy: RetryPolicy,
    late: Callable[[float], bool],
    rest: Callable[[float], Awaitable[None]],
) -> T:
    """The tries after the first one, which has `failed`; raises the last Transient where there is none to follow."""
    from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

    backoff = wait_random_exponential(multiplier=policy.first_wait, max=policy.longest_wait)
    before: list[Transient] = [failed]

    def last(state: RetryCallState) -> Transient:
        error = state.outcome.exception() if state.outcome else None
        return error if isinstance(error, Transient) else failed

    def wait(state: RetryCallState) -> float:
        return max(last(state).retry_after or 0.0, backoff(state))

    def stop(state: RetryCallState) -> bool:
        tries = min(policy.attempts, last(state).tries or policy.attempts)
        return late(state.upcoming_sleep) or state.attempt_number >= tries

    async def one() -> T:
        if before:
            raise before.pop()  # counts as the first try
        return await call()

    retrying = AsyncRetrying(retry=retry_if_exception_type(Transient), wait=wait, stop=stop, sleep=rest, reraise=True)
    return await retrying(one)


async def _rest(seconds: float, limit: asyncio.Timeout) -> None:
    """Sleep without a slot, then wait for one; that wait is not taken off the time limit."""
    slot, loop = held_slot(), asyncio.get_running_loop()
    if slot is None:
        await asyncio.sleep(seconds)
        return
    slot.leave()
    await asyncio.sleep(seconds)
    end, begun = limit.when(), loop.time()
    limit.reschedule(None)
    await slot.take()
    limit.reschedule(None if end is None else end + loop.time() - begun)
