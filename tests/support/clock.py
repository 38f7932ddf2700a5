"""Time that is made of waits alone: an event loop that jumps to the next one, whatever the machine does meanwhile.

For code that only sleeps and waits for time limits; what comes from outside does not come in this time.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Waits(selectors.DefaultSelector):
    now = 1000.0

    def select(self, timeout: float | None = None) -> Any:
        self.now += timeout or 0.0
        return super().select(0.0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._waits = _Waits()
        super().__init__(self._waits)

    def time(self) -> float:
        return self._waits.now


def run(main: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)


def monotonic() -> float:
    """Seconds, within `run`."""
    return asyncio.get_running_loop().time()
