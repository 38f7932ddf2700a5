"""Python's search for garbage in cycles: seldom where thousands of requests are under way, and not as a command ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def rare_collection() -> Iterator[None]:
    """Let the cycle collector run seldom: with thousands of requests it costs 7 % of the time and frees little."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def leave_to_exit() -> None:
    """All that is there goes with the process: the interpreter would look through it for cycles, for 0.3 s in a large run."""
    gc.freeze()
