"""Run a real server as a process of its own until it answers, and end it with the block."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from .loopback import HOST, free_port


@contextlib.contextmanager
def serving_process(
    command: Callable[[int], Sequence[str]], log: Path, env: Mapping[str, str], patience: float = 240
) -> Iterator[str]:
    """Start `command(port)`, wait until its `/health` answers, and yield its base URL ending in `/v1`.

    What it prints goes to `log`, whose end is shown when it dies or has not answered after `patience` seconds.
    """
    port = free_port()
    with log.open("w") as file:
        # A session of its own: such servers have workers, which must end with them.
        process = subprocess.Popen(
            command(port), stdout=file, stderr=file, env={**os.environ, **env}, start_new_session=True
        )
    try:
        _wait(process, f"http://{HOST}:{port}/health", log, time.monotonic() + patience)
        yield f"http://{HOST}:{port}/v1"
    finally:
        _end(process)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path, until: float) -> None:
    while True:
        with contextlib.suppress(urllib.error.URLError, OSError), urllib.request.urlopen(url, timeout=5):
            return
        if process.poll() is not None or time.monotonic() > until:
            tail = log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"no answer from {url} (exit code {process.poll()}): {tail}")
        time.sleep(0.5)


def _end(process: subprocess.Popen[bytes]) -> None:
    for signum in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signum)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=15)
    process.wait()
