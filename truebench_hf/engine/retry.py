"""Bounded retries with exponential backoff and jitter, honouring Retry-After."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


class RequestFailed(Exception):
    """This one request cannot be answered (retries used up, or the prompt does not fit); others may go on."""


class Transient(Exception):
    """A failure worth another try. `retry_after`: seconds the server asked to wait, where it did."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Tries, and seconds: first wait, longest wait, and the deadline over all tries of one request."""

    attempts: int = 6
    first_wait: float = 0.5
    longest_wait: float = 60.0
    deadline: float = 900.0


async def with_retries(call: Callable[[], Awaitable[T]], policy: RetryPolicy) -> T:
    """Await `call()`, again after each Transient. Raises RequestFailed, with the last reason, when tries run out."""
    from tenacity import (
        AsyncRetrying,
        RetryCallState,
        RetryError,
        retry_if_exception_type,
        stop_after_attempt,
        wait_random_exponential,
    )

    backoff = wait_random_exponential(multiplier=policy.first_wait, max=policy.longest_wait)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, Transient) and error.retry_after is not None else 0.0
        return max(asked, backoff(state))

    started = time.monotonic()

    def stop(state: RetryCallState) -> bool:
        # The coming wait counts too: a Retry-After beyond the deadline is not slept through in vain.
        return stop_after_attempt(policy.attempts)(state) or (
            time.monotonic() - started + state.upcoming_sleep > policy.deadline
        )

    try:
        async for attempt in AsyncRetrying(retry=retry_if_exception_type(Transient), wait=wait, stop=stop):
            with attempt:
                return await call()
    except RetryError as error:
        reason = error.last_attempt.exception()
        tries = error.last_attempt.attempt_number
        raise RequestFailed(f"gave up after {tries} tries: {reason}") from reason
    raise AssertionError("unreachable: the loop returns or raises")
