"""All commands of `truebench`, put together, and what becomes of their errors."""

from __future__ import annotations

import functools
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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
    running,
    score,
    standings,
    studies,
    study,
)
from truebench_hf.cli.options import App, command, later
from truebench_hf.cli.texts import help_text
from truebench_hf.text.terminal import say
from truebench_hf.version import __version__

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


def run() -> None:
    """Run the command; what the user can fix is one line on stderr and exit code 2."""
    running.run(whole)
