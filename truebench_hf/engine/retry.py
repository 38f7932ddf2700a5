"""Retries under a deadline, with exponential backoff and jitter, honouring Retry-After."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class RequestFailed(Exception):
    """This one request cannot be answered (retries used up, or the prompt does not fit); others may go on."""


class Transient(Exception):
    """A failure worth another try, `tries` in all at most where the policy's number would be in vain.

    `retry_after`: seconds the server asked to wait, where it did.
    """

    def __init__(self, message: str, retry_after: float | None = None, tries: int | None = None) -> None:
        super().__init__(message)
        self.retry_after, self.tries = retry_after, tries


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Tries, and seconds: first wait, longest wait, and the deadline over all tries and waits of one request.

    Twelve tries span two and a half minutes on average, so that a server may be busy for a while.
    """

    attempts: int = 12
    first_wait: float = 0.5
    longest_wait: float = 60.0
    deadline: float = 900.0


async def with_retries(call: Callable[[], Awaitable[T]], policy: RetryPolicy) -> T:
    """Await `call()`, again after each Transient, until it answers or the policy's tries or time are used up.

    Then raises RequestFailed from the last Transient; a call still under way at the deadline is cancelled.
    """
    from tenacity import AsyncRetrying, RetryCallState, RetryError, retry_if_exception_type, wait_random_exponential

    backoff = wait_random_exponential(multiplier=policy.first_wait, max=policy.longest_wait)
    started = time.monotonic()
    last: Transient | None = None

    def wait(state: RetryCallState) -> float:
        return max((last.retry_after if last else None) or 0.0, backoff(state))

    def stop(state: RetryCallState) -> bool:
        tries = min(policy.attempts, (last.tries if last else None) or policy.attempts)
        # The coming wait counts too: a Retry-After beyond the deadline is not slept through in vain.
        late = time.monotonic() - started + state.upcoming_sleep > policy.deadline
        return late or state.attempt_number >= tries

    async def noted() -> T:
        nonlocal last
        try:
            return await call()
        except Transient as error:
            last = error
            raise

    try:
        async with asyncio.timeout(policy.deadline) as limit:
            return await AsyncRetrying(retry=retry_if_exception_type(Transient), wait=wait, stop=stop)(noted)
    except RetryError as error:
        raise RequestFailed(f"gave up after {error.last_attempt.attempt_number} tries: {last}") from last
    except TimeoutError:
        if not limit.expired():
            raise
        before = f"; before: {last}" if last else ""
        raise RequestFailed(f"no answer within the deadline of {policy.deadline:g} s{before}") from last
