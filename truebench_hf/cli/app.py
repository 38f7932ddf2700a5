"""All commands of `truebench`, put together, and what becomes of their errors."""

from __future__ import annotations

import functools
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
    running,
    score,
    standings,
    studies,
)
from truebench_hf.cli.options import App, command, later
from truebench_hf.terminal import say

app = App(
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


def run() -> None:
    """Run the command; what the user can fix is one line on stderr and exit code 2."""
    running.run(whole)
