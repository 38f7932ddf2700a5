"""All commands of `truebench`, put together, and what becomes of their errors."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, Any

import typer

from truebench_hf.cli import studies
from truebench_hf.cli.commands import Group, group
from truebench_hf.errors import UserError, is_write_error, write_error
from truebench_hf.text.redaction import learn_environment
from truebench_hf.text.terminal import complain, say, shortened, warn
from truebench_hf.version import __version__

_ORDER = (
    "demo", "run", "judge", "compare", "check", "leaderboard", "table", "label", "metaeval", "tick", "facts", "flex", "data", "publish",
    "space", "cache", "study",
)  # fmt: skip
_FILES = 10_240  # more calls than anybody has under way, and the most that macOS takes
_USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class _Ordered(Group):
    """The commands in the order in which people meet them."""

    def list_commands(self, ctx: Any) -> list[str]:
        places = {name: place for place, name in enumerate(_ORDER)}
        return sorted(super().list_commands(ctx), key=lambda name: places.get(name, len(places)))


app = group("")
app.info.cls = _Ordered
app.info.name = "truebench"


def _version(wanted: bool) -> None:
    if wanted:
        say(f"truebench-hf {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


studies.add()


@functools.cache
def whole() -> Any:
    """The command with all of its parts, put together once."""
    return typer.main.get_command(app)


def run(command: Callable[[], Any] = whole) -> None:
    """Run the command that `command` puts together to its exit code: what the user can fix is one line on stderr and 2."""
    learn_environment()
    # Each of its retries would be two lines; what comes of them is told in the last one.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    _allow_files()
    try:
        code = command()(standalone_mode=False)
    except Exception as error:
        sys.exit(_report(error))
    sys.exit(code if isinstance(code, int) else 0)


def _report(error: Exception) -> int:
    """Say what is wrong on stderr, and return the exit code; a bug keeps its traceback, but for secrets in it."""
    if isinstance(error, UserError):
        complain(error)
        return error.exit_code
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        complain(f"{shortened(error.filename or '', 80)}: is too long for the name of a file")
        return 2
    if isinstance(error, OSError) and is_write_error(error):
        complain(write_error(error.filename or "a file", error.strerror))
        return 2
    if isinstance(error, typer.Abort) and not isinstance(error.__cause__, EOFError):
        return 1  # at an EOFError nobody is asked anything: a file is cut off
    if isinstance(error, _USAGE):  # what was typed may hold a login
        printed = io.StringIO()
        error.show(file=printed)
        param = getattr(error, "param", None)
        if getattr(param, "name", "") == "judge" and "none: " in getattr(param, "help", ""):
            printed.write("Name a model, or --judge none: what can be counted is decided, the rest is left open.\n")
        warn(printed.getvalue().rstrip())
        return int(error.exit_code)
    warn("".join(traceback.format_exception(error)).rstrip())
    return 1


def _allow_files() -> None:
    """Let many files be open at a time, where the system lets us ask for it: every call under way has one."""
    with contextlib.suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft not in (hard, resource.RLIM_INFINITY) and soft < _FILES:
            most = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
