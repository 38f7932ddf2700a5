"""All commands of `truebench`, put together, and what becomes of their errors."""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import traceback
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from truebench_hf import __version__
from truebench_hf.cli import (
    checklist,
    data,
    demo,
    export,
    facts,
    flex,
    label,
    prompts,
    publish,
    rescue,
    score,
    standings,
    studies,
    study,
)
from truebench_hf.cli.options import App, command, later
from truebench_hf.cli.texts import help_text
from truebench_hf.confidential import learn_environment
from truebench_hf.errors import UserError, is_write_error, too_long, write_error
from truebench_hf.terminal import complain, say, warn

_ORDER = (
    "demo", "run", "judge", "compare", "leaderboard", "label", "metaeval", "tick", "facts", "flex", "data", "publish",
    "space", "study",
)  # fmt: skip


class _Ordered(TyperGroup):
    """The commands in the order in which people meet them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=_ORDER.index)


app = App(
    name="truebench",
    cls=_Ordered,
    help="Which of your requirements does a model miss, how often, and how sure is that?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
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


study.add_to(app)
studies.add_to(app)
demo.add_to(app)
standings.add_to(app, study.study)
label.add_to(app, study.study)
facts.add_to(app)
flex.add_to(app)
data.add_to(app)
publish.add_to(app)
score.add_to(study.study)
checklist.add_to(study.study)
prompts.add_to(study.study)
export.add_to(study.study)
rescue.add_to(study.study)


def _space(app: typer.Typer) -> None:
    from truebench_hf.space.options import SpaceOptions

    def run(options: SpaceOptions) -> None:
        from truebench_hf.space.app import serve

        serve(options)

    command(app, "space", SpaceOptions, run, help_text("space"))


later(app, "space", "space", _space)


@functools.cache
def whole() -> Any:
    """The command with all of its parts, put together once."""
    return typer.main.get_command(app)


_FILES = 10_240  # more calls than anybody has under way, and the most that macOS takes
_USAGE: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


def run() -> None:
    """Run the command; what the user can fix is one line on stderr and exit code 2."""
    learn_environment()
    _allow_files()
    try:
        code = whole()(standalone_mode=False)
    except UserError as error:
        complain(error)
        sys.exit(2)
    except OSError as error:
        if long := too_long(error):
            complain(long)
            sys.exit(2)
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
