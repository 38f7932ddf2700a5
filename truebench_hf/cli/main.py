"""The command `truebench`, as a process of its own.

Ctrl-C, SIGTERM and SIGHUP are taken care of before anything else is loaded: the command ends soon, in one line, with 128
and the signal's number as exit code. Whatever cost a call is on disk anyway.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_GRACE = 10.0  # seconds for what is under way to be put away


def main(run: Callable[[], None] | None = None) -> None:
    """Run the command, by default `truebench`. What is ignored stays so, as under `nohup`."""
    stopped: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        """End the process: on the spot where no call is under way, else once the calls are put away."""
        asyncio: Any = sys.modules.get("asyncio")
        running = getattr(asyncio, "_get_running_loop", None)  # which a module that is being imported may lack yet
        loop = running and running()
        if loop is None:
            _exit(number)
        if not stopped:
            stopped.append(number)
            timer = threading.Timer(_GRACE, _exit, (number,))
            timer.daemon = True
            timer.start()
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.call_soon_threadsafe(lambda: None)  # wakes it up

    handled = [number for number in _ENDING if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    for number in handled:
        signal.signal(number, stop)
    try:
        if run is None:
            from truebench_hf.cli.app import run as command

            command()
        else:
            run()
    finally:
        if stopped:  # whatever has come of it
            _exit(stopped[0])
        # What is left is to leave: a signal would only hide how the command ended.
        for number in handled:
            signal.signal(number, signal.SIG_IGN)


def _exit(number: int) -> NoReturn:
    """Say that the command was stopped, and end the process without waiting for threads that load or run a model."""
    # Past sys.stderr, which a thread may just hold shut. The terminal may be gone.
    with contextlib.suppress(OSError):
        os.write(2, b"truebench: stopped; the same command goes on where it was\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
