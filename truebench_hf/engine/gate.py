"""What all callers of one server know of it together: when to wait for it, and when to give it up."""

from __future__ import annotations

import random
import time
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import TypeVar
from weakref import WeakValueDictionary

from truebench_hf.engine.retry import Paused, Transient
from truebench_hf.errors import UserError
from truebench_hf.text.terminal import warn

T = TypeVar("T")

PATIENCE = 60.0  # seconds, see `Gate.through`
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0  # where a busy server does not say how long
_PROBE_AFTER = 60.0  # seconds of a pause after which one call looks whether the server takes calls again
_CONNECTED = 35.0  # what is under way for longer has been connected: see the time limit of connecting
_LONGEST_ASKED = 3600.0  # a longer Retry-After is a limit per day, say: nothing to sit out
_ROUND = 0.5  # how long to wait for the last calls under way before another look
_UNREADABLE_TRIES = 3  # one after the other, at a server of which nothing could ever be read

# What to do about each kind of want.
_REMEDIES = {
    "the server": "start it, or check its URL",
    "a valid key": "check the key",
    "credit": "top up the account, or use another key",
    "the model": "check the model name, and what the server serves",
}


class Missing(Transient):
    """A call failed for want of `what`: the server, a valid key, credit or the model."""

    def __init__(self, message: str, what: str = "the server", tries: int | None = None) -> None:
        super().__init__(message, tries=tries)
        self.what = what


class Unreadable(Transient):
    """What came is no answer of the API that was asked: a page, say, or a stream of events."""


class Busy(Paused):
    """The server takes no more calls for now, whoever makes them."""


class GivenUp(UserError):
    """Nothing has come of a server for so long that the run had better stop."""


class Gate:
    """The state of one server, shared by all its callers in this process."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.answered = False  # whether any call ever was
        self._opens = 0.0  # the moment before which nobody asks, but for the probe, and why
        self._why = ""
        self._probe_at = 0.0  # the moment from which on one call may look whether it is over
        self._probe: object | None = None  # the call that looks
        self._announced = ""  # until when all wait, as people were told
        self._rounds = 0  # how often in a row it was too busy
        self._unreadable = 0  # how many calls, one after the other, brought nothing readable before any answer did
        self._failing: float | None = None  # since when calls have ended in nothing but a Missing
        self._under_way: dict[object, float] = {}  # when each call under way began

    async def through(self, ask: Callable[[], Awaitable[T]], patience: float) -> T:
        """Await `ask()` unless the server is to be left alone for now: that is a Paused. Raises what `ask` raises.

        After a Busy all callers pause together; in a long pause one call a minute is let through, and the first answer
        ends the pause for all. Until anything was ever answered, an Unreadable leaves one call at a time; the third
        one in a row raises GivenUp. So it is when for `patience` seconds every call that ended was a Missing, and none
        is still being answered. A Paused says nothing either way.
        """
        mark, began, unreadable = object(), time.monotonic(), self._unreadable
        self._admit(mark, began, patience)
        self._under_way[mark] = began
        try:
            answer = await ask()
        except Busy as busy:
            self._failing = None
            raise self._pause(busy, mark, began) from busy
        except Paused:
            raise
        except Missing as error:
            del self._under_way[mark]
            self._note_missing(error, patience)
            raise
        except Exception as error:
            self._failing = None
            self._open_after(mark)
            if isinstance(error, Unreadable) and not self.answered:
                self._note_unreadable(error, unreadable)
            raise
        else:
            self._open_after(mark)
            self._failing, self._rounds, self.answered = None, 0, True
            return answer
        finally:
            self._under_way.pop(mark, None)
            if self._probe is mark:
                self._probe, self._probe_at = None, time.monotonic() + _PROBE_AFTER

    def _admit(self, mark: object, now: float, patience: float) -> None:
        """Raise a Paused while the server is too busy, or while the last calls under way decide what becomes of it."""
        if now < self._opens:
            if self._probe is None and now >= self._probe_at:
                self._probe = mark
                return
            raise Paused(self._why, self._seconds_left(now), asked=False)
        if not self._under_way:
            return
        # Some hang in connecting, which nobody can see from here; one that is old enough is being answered.
        undecided = self._lost(now, patience) and now - min(self._under_way.values()) < _CONNECTED
        if undecided or (self._unreadable and not self.answered):
            raise Paused("waiting for the last calls under way", _ROUND, asked=False)

    def _pause(self, busy: Busy, mark: object, began: float) -> Paused:
        now, seconds, probed = time.monotonic(), busy.seconds or 0.0, self._probe is mark
        first = probed or began >= self._opens  # of those who were under way together
        if first:
            self._rounds += 1
            longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(self._rounds - 1, 20))
            seconds = seconds or random.uniform(longest / 2, longest)
        if seconds > _LONGEST_ASKED:
            raise GivenUp(
                f"stopped: the server asks to be left alone for {seconds / 3600:.1f} hours: {busy}; "
                "the same command goes on where it was"
            ) from busy
        self._opens = now + seconds if probed else max(self._opens, now + seconds)
        self._why = str(busy)
        if first:
            self._probe, self._probe_at = None, now + _PROBE_AFTER
        if self._opens - now > _PROBE_AFTER:
            self._announce(self._opens - now)
        return Paused(self._why, self._seconds_left(now))

    def _announce(self, seconds: float) -> None:
        until = f"{datetime.now() + timedelta(seconds=seconds):%H:%M}"
        if until != self._announced:
            self._announced = until
            warn(
                f"waiting until {until}, as the server asks: {self._why}; one request a minute tries whether it is over"
            )

    def _open_after(self, mark: object) -> None:
        """Let all go on where this call was the probe: it was not turned away."""
        if self._probe is mark:
            self._opens, self._probe = 0.0, None

    def _seconds_left(self, now: float) -> float:
        """Seconds until the next chance to ask, and a little more, so that not all come at the same moment."""
        left = _ROUND if self._probe else max(0.0, min(self._opens, self._probe_at) - now)
        return left + random.uniform(0.0, min(1.0, left / 4))

    def _note_unreadable(self, error: Unreadable, before: int) -> None:
        if self._unreadable == before:  # of those who were under way together only the first one counts
            self._unreadable += 1
        if self._unreadable >= _UNREADABLE_TRIES:
            self._unreadable = 0  # another run in this process starts afresh
            raise GivenUp(
                f"no OpenAI-compatible API at {self._url}: {_UNREADABLE_TRIES} tries brought nothing that can be read, "
                f"the last one: {error}; check --model-base-url/--judge-base-url and $OPENAI_BASE_URL"
            ) from error

    def _note_missing(self, error: Missing, patience: float) -> None:
        now = time.monotonic()
        if self._failing is None:
            self._failing = now
        if self._lost(now, patience) and not self._under_way:
            self._failing = None  # another run in this process starts afresh
            raise GivenUp(
                f"stopped: for {patience:g} s every call failed for want of {error.what}, the last one with: {error}; "
                f"{_REMEDIES[error.what]}; the same command goes on where it was (--patience SECONDS waits longer)"
            ) from error

    def _lost(self, now: float, patience: float) -> bool:
        return self._failing is not None and now - self._failing >= patience


_GATES: WeakValueDictionary[str, Gate] = WeakValueDictionary()


def gate_of(url: str) -> Gate:
    """The gate of the server with that base URL: one for all who hold it at the same time."""
    return _GATES.setdefault(url, Gate(url))
