"""All commands of `truebench`, put together, and what becomes of their errors."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import sys
import traceback
from typing import Annotated, Any

import typer

from truebench_hf import __version__
from truebench_hf.cli import (
    checklist,
    data,
    export,
    facts,
    flex,
    label,
    panels,
    prompts,
    publish,
    rescue,
    score,
    standings,
    studies,
)
from truebench_hf.cli.options import command, later
from truebench_hf.confidential import learn_environment
from truebench_hf.errors import UserError, is_write_error, write_error
from truebench_hf.terminal import complain, say, warn

app = typer.Typer(
    name="truebench",
    help="Instruction-following evaluation: score models, and measure how far their judges can be trusted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


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


studies.add_to(app)
flex.add_to(app)
facts.add_to(app)
score.add_to(app)
standings.add_to(app)
checklist.add_to(app)
label.add_to(app)
data.add_to(app)
prompts.add_to(app)
publish.add_to(app)
export.add_to(app)
rescue.add_to(app)


_SPACE = "Serve the leaderboard and playground on this machine."


def _space(app: typer.Typer) -> None:
    from truebench_hf.space.options import SpaceOptions

    def run(options: SpaceOptions) -> None:
        from truebench_hf.space.app import serve

        serve(options)

    command(app, "space", SpaceOptions, run, _SPACE)


later(app, "space", _SPACE, _space, panels.REST)


@functools.cache
def whole() -> Any:
    """The command with all of its parts, put together once."""
    return typer.main.get_command(app)


_FILES = 10_240  # more calls than anybody has under way, and the most that macOS takes
_USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def run() -> None:
    """Run the command; what the user can fix is one line on stderr and exit code 2."""
    learn_environment()
    # Each of its retries would be two lines; what comes of them is told in the last one.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    _allow_files()
    try:
        code = whole()(standalone_mode=False)
    except UserError as error:
        complain(error)
        sys.exit(2)
    except OSError as error:
        if not is_write_error(error):
            warn(traceback.format_exc().rstrip())
            sys.exit(1)
        complain(write_error(error.filename or "a file", error.strerror))
        sys.exit(2)
    except typer.Abort:
        sys.exit(1)
    except Exception as error:
        if isinstance(error, _USAGE):  # what was typed may hold a login
            shown = io.StringIO()
            error.show(file=shown)
            warn(shown.getvalue().rstrip())
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
