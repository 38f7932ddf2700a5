"""Running a command to its exit code: what becomes of errors, and what the process is allowed."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

import typer

from truebench_hf.errors import UserError, is_write_error, write_error
from truebench_hf.text.redaction import learn_environment
from truebench_hf.text.terminal import complain, shortened, warn

_FILES = 10_240  # more calls than anybody has under way, and the most that macOS takes
_USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def run(command: Callable[[], Any]) -> None:
    """Run the command that `command` puts together; what the user can fix is one line on stderr and exit code 2."""
    learn_environment()
    # Each of its retries would be two lines; what comes of them is told in the last one.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    _allow_files()
    try:
        code = command()(standalone_mode=False)
    except UserError as error:
        complain(error)
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            complain(f"{shortened(error.filename or '', 80)}: is too long for the name of a file")
            sys.exit(2)
        if not is_write_error(error):
            warn(traceback.format_exc().rstrip())
            sys.exit(1)
        complain(write_error(error.filename or "a file", error.strerror))
        sys.exit(2)
    except typer.Abort as error:
        if isinstance(error.__cause__, EOFError):  # nobody is asked anything: a file that is cut off
            warn(traceback.format_exc().rstrip())
        sys.exit(1)
    except Exception as error:
        if isinstance(error, _USAGE):  # what was typed may hold a login
            printed = io.StringIO()
            error.show(file=printed)
            param = getattr(error, "param", None)
            if getattr(param, "name", "") == "judge" and "none: " in getattr(param, "help", ""):
                printed.write("Name a model, or --judge none: what can be counted is decided, the rest is left open.\n")
            warn(printed.getvalue().rstrip())
            sys.exit(error.exit_code)
        warn(traceback.format_exc().rstrip())  # a bug keeps its traceback, but for what a message in it must not show
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _allow_files() -> None:
    """Let many files be open at a time, where the system lets us ask for it: every call under way has one."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft not in (hard, resource.RLIM_INFINITY) and soft < _FILES:
            most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
