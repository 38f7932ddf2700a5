"""The command `truebench` as a process of its own that starts at once: forked from one that has loaded what it needs.

What reads the environment when it is imported (the Hub's client, torch, ...) is not loaded before: it meets that of the
command's own process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import json
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0


def truebench(
    arguments: Sequence[str], cwd: Path, env: Mapping[str, str], longest: int | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command; with `longest` it cannot write past so many bytes of any file."""
    return _parent().run({"arguments": list(arguments), "cwd": str(cwd), "env": dict(env), "longest": longest})


@functools.cache
def _parent() -> _Parent:
    return _Parent()


class _Parent:
    """A process that forks one command after the other."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from tests.support import forked; forked.serve()"], cwd=ROOT, text=True, bufsize=1,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        atexit.register(self._end)

    def run(self, job: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        command = ["truebench", *job["arguments"]]
        with tempfile.TemporaryDirectory() as folder:
            printed = [Path(folder, name) for name in ("stdout", "stderr")]
            self._process.stdin.write(json.dumps(job | {"printed": [str(path) for path in printed]}) + "\n")
            if not select.select([self._process.stdout], [], [], PATIENCE)[0]:
                _parent.cache_clear()
                self._end()
                raise subprocess.TimeoutExpired(command, PATIENCE)
            code = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(command, code, *(path.read_text(encoding="utf-8") for path in printed))

    def _end(self) -> None:
        atexit.unregister(self._end)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


def serve() -> None:
    """Fork a command for every line that comes in, and print its exit code."""
    import openai  # noqa: F401
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401

    from truebench_hf.cli.app import whole

    whole()
    sys.path.remove("")  # where the command runs is no place for modules
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _become(job: Mapping[str, Any]) -> NoReturn:
    """Be the command from here on."""
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, path in enumerate(job["printed"], 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    if job["longest"] is not None:
        sys.dont_write_bytecode = True  # else a module imported now leaves a file of compiled code that is cut off
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["longest"], job["longest"]))
    sys.argv = ["truebench", *job["arguments"]]
    from truebench_hf.cli.main import main

    code = -1
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        # As Python ends, but for taking apart all that is loaded, which takes longer than most commands.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
