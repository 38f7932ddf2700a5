"""Calls that are repeated: what another try may mend, the pauses that all callers of a server share, and giving up."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Literal, TypeVar
from weakref import WeakKeyDictionary

from truebench_hf.errors import UserError
from truebench_hf.text.terminal import warn

T = TypeVar("T")
Kind = Literal["busy", "gone", "unreadable", "fault"]

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # where a busy server does not say how long
_LONGEST_RETRY_AFTER = 3600.0  # a longer one is a limit per day, say: nothing to sit out
_PROBE_AFTER = 60.0  # seconds of a pause after which one call looks whether the server takes calls again
_PROBING = 0.5  # seconds until those who wait look whether the probe has ended the pause
_UNREADABLE_TRIES = 3  # of one request, at a server of which nothing could ever be read
_LONGEST_SILENCE = 60.0  # seconds that one request alone waits, of which nobody is told
_CONNECTED = 35.0  # a call under way for longer has been connected: see the time limit of connecting


class RequestFailed(Exception):
    """This one request cannot be answered (retries used up, or the prompt does not fit); others may go on."""


class TryAgain(Exception):
    """Another try may succeed.

    `kind` is "busy" (the server takes no more calls for now, whoever makes them), "gone" (nobody is behind the address,
    or what has answered there is away), "unreadable" (no answer of the API that was asked), or "fault". `wait` are the
    seconds that the server asks for; `tries` bounds the tries where the policy's number would be in vain.
    """

    def __init__(self, message: str, kind: Kind = "fault", wait: float | None = None, tries: int | None = None) -> None:
        super().__init__(message)
        self.kind, self.wait, self.tries = kind, wait, tries


class ServerUnavailable(UserError):
    """Nothing has come of a server for so long that the run had better stop."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Tries, and seconds: first wait, longest wait, the deadline over all tries and waits of one request, and for how
    long a server may be gone before the run is given up.

    The first waits are short, since at the end of a run nothing else is under way meanwhile; fourteen tries span over
    two minutes on average, so that a server may be away for a while. The deadline allows for one call of half an hour
    and the failures before it.
    """

    attempts: int = 14
    first_wait: float = 0.1
    longest_wait: float = 60.0
    deadline: float = 3600.0
    patience: float = 60.0


class CircuitBreaker:
    """What all callers of one server know of it together: when to wait for it, and when to give it up."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.answered = False  # whether any call ever was
        self._opens, self._reason = 0.0, ""  # the moment before which nobody asks but for the probe, and why
        self._probe: object | None = None  # the request whose call looks whether the pause is over
        self._probe_at = 0.0  # the moment from which on one may
        self._announced = -inf  # the end of the pause that people were told of
        self._busy_rounds = 0  # pauses in a row
        self._gone_since: float | None = None  # since when calls have ended in nothing but "gone"
        self._under_way: dict[object, float] = {}  # when the call of each request began

    async def ask(self, call: Callable[[], Awaitable[T]], policy: RetryPolicy) -> T:
        """Await `call()`, again after each TryAgain, until it answers or the policy's tries or time are used up.

        Then raises RequestFailed from the last TryAgain; a call still under way at the deadline is cancelled. Where the
        server is busy all callers wait together, without using up a try; in a long pause one call a minute is let
        through, and the first answer ends the pause for all. Raises ServerUnavailable where calls have ended in nothing
        but "gone" for the policy's `patience` and none is being answered, and where nothing readable ever came.
        """
        request, limit = object(), asyncio.timeout(policy.deadline)
        tries = failures = 0
        last: TryAgain | None = None
        try:
            async with limit:
                while True:
                    while seconds := self._pause_left(request):
                        await _rest(limit, seconds, last or TryAgain(self._reason, "busy"))
                    tries += 1
                    try:
                        return await self._through(call, request, policy.patience)
                    except TryAgain as error:
                        last = error
                    if last.kind == "busy":  # the next try waits until the pause of all is over
                        continue
                    failures += 1
                    bound = _UNREADABLE_TRIES if last.kind == "unreadable" and not self.answered else last.tries
                    if failures >= min(bound or inf, policy.attempts):
                        raise last
                    longest = min(policy.longest_wait, policy.first_wait * 2 ** min(tries - 1, 20))
                    seconds = max(min(last.wait or 0.0, _LONGEST_SILENCE), random.uniform(0.0, longest))
                    await _rest(limit, seconds, last)
        except TryAgain as error:
            if error.kind == "unreadable" and not self.answered and failures >= _UNREADABLE_TRIES:
                raise ServerUnavailable(
                    f"no OpenAI-compatible API at {self._url}: {tries} tries brought nothing that can be read, the last "
                    f"one: {error}; check --model-base-url/--judge-base-url and $OPENAI_BASE_URL"
                ) from error
            raise RequestFailed(f"gave up after {tries} tries: {error}") from error
        except TimeoutError:
            if not limit.expired():
                raise
            before = f"; before: {last}" if last else ""
            raise RequestFailed(f"no answer within the deadline of {policy.deadline:g} s{before}") from last

    def _pause_left(self, request: object) -> float:
        """Return the seconds until a request may ask; 0.0 lets it ask now, as the probe where the server is busy."""
        now = time.monotonic()
        if now >= self._opens:
            return 0.0
        if self._probe is None and now >= self._probe_at:
            self._probe = request
            return 0.0
        left = _PROBING if self._probe else min(self._opens, self._probe_at) - now
        return left + random.uniform(0.0, min(1.0, left / 4))  # so that not all come at the same moment

    async def _through(self, call: Callable[[], Awaitable[T]], request: object, patience: float) -> T:
        """Await `call()` and note what its outcome says of the server. Raises what `call` raises."""
        began = self._under_way[request] = time.monotonic()
        kind: Kind = "fault"
        try:
            answer = await call()
            self._busy_rounds, self.answered = 0, True
            return answer
        except TryAgain as error:
            kind, now = error.kind, time.monotonic()
            if kind == "busy":
                self._pause(error, request, began)
            elif kind == "gone":
                self._gone_since = self._gone_since or now
                # Long thinking is no silence: a call that is old enough is being answered.
                if now - self._gone_since >= patience and now - min(self._under_way.values()) < _CONNECTED:
                    self._gone_since = None  # another run in this process starts afresh
                    raise ServerUnavailable(
                        f"stopped: for {patience:g} s every call found the server, the model or the key gone, the last one "
                        f"with: {error}; start the server, or check URL, model and key; the same command goes on where it "
                        "was (--model-arg/--judge-arg patience=SECONDS waits longer)"
                    ) from error
            raise
        finally:
            if kind != "gone":
                self._gone_since = None
            if self._probe is request:
                self._probe, self._probe_at = None, time.monotonic() + _PROBE_AFTER
                if kind not in ("busy", "gone"):  # the server takes calls: all go on
                    self._opens = 0.0
            del self._under_way[request]

    def _pause(self, error: TryAgain, request: object, began: float) -> None:
        now, probed = time.monotonic(), self._probe is request
        if probed or began >= self._opens:  # else it was under way together with the one that began the pause
            self._busy_rounds += 1
            self._probe_at = now + _PROBE_AFTER
        longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._busy_rounds - 1, 20))
        seconds = error.wait or random.uniform(longest / 2, longest)
        if seconds > _LONGEST_RETRY_AFTER:
            hours = f"{seconds / 3600:.1f} hours"
            problem = f"stopped: the server asks to be left alone for {hours}: {error}"
            raise ServerUnavailable(f"{problem}; the same command goes on where it was") from error
        self._opens, self._reason = now + seconds if probed else max(self._opens, now + seconds), str(error)
        if self._opens - now > _PROBE_AFTER and self._opens - self._announced > _PROBE_AFTER:
            self._announced = self._opens
            until = f"{datetime.now() + timedelta(seconds=self._opens - now):%H:%M}"
            warn(f"waiting until {until}, as the server asks: {error}; one request a minute tries whether it is over")


async def _rest(limit: asyncio.Timeout, seconds: float, why: TryAgain) -> None:
    """Sleep; raises `why` where that would last beyond the limit, so that nobody sleeps in vain."""
    if asyncio.get_running_loop().time() + seconds > (limit.when() or inf):
        raise why
    await asyncio.sleep(seconds)


_BREAKERS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, CircuitBreaker]] = WeakKeyDictionary()


def breaker_of(url: str) -> CircuitBreaker:
    """Return the breaker of the server with that base URL, one for all callers in the running event loop.

    Another loop is another run: what stood behind an address then may be another server now.
    """
    return _BREAKERS.setdefault(asyncio.get_running_loop(), {}).setdefault(url, CircuitBreaker(url))
