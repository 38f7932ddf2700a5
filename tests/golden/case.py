"""A case: input files, then commands of the real command line, all in one folder of its own."""

from __future__ import annotations

import contextlib
import io
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

# A step is a command without `truebench`, or a function that works in the current folder; the text that one returns is
# held as what is printed.
Step = str | Callable[[], str | None]


@dataclass(frozen=True)
class Case:
    """`write` leaves the inputs in the current folder; what the steps write goes into folders below it."""

    name: str
    write: Callable[[], None]
    steps: tuple[Step, ...]


def play(case: Case, folder: Path) -> str:
    """Write the inputs of a case into `folder` and run its commands there; what they print, with their exit codes."""
    with alike_everywhere(folder):
        case.write()
        printed = (run_command(step) if isinstance(step, str) else step() for step in case.steps)
        return "\n".join(f"--- {number}. {text}" for number, text in enumerate(filter(None, printed), 1))


def command_output(words: Sequence[str], code: int, out: str, err: str) -> str:
    """What a command printed, under its name and exit code."""
    name = " ".join(words[:2]) if words[0] in ("study", "publish", "data") else words[0]
    return f"{name}: exit code {code}\n{out}" + (f"--- on stderr\n{err}" if err else "")


def run_command(command: str) -> str:
    """Run a command of the real command line in this process; what it printed."""
    from truebench_hf.cli.main import main

    words = shlex.split(command)
    out, err = io.StringIO(), io.StringIO()
    arguments = mock.patch.object(sys, "argv", ["truebench", *words])
    handlers = {which: signal.getsignal(which) for which in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with arguments, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    for which, handler in handlers.items():  # which the command leaves behind, since its process ends
        signal.signal(which, handler)
    return command_output(words, code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def alike_everywhere(folder: Path) -> Iterator[None]:
    """Relative paths, no setting of the machine's user, a fixed width, and no warning that shows only once a process."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    environment = mock.patch.dict(
        os.environ, kept | {"COLUMNS": "140", "LINES": "40", "TRUEBENCH_CACHE": "off"}, clear=True
    )
    with environment, contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
