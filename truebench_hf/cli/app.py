"""All commands of `truebench`, put together, and what becomes of their errors."""

from __future__ import annotations

import functools
from typing import Annotated, Any

import typer

from truebench_hf.cli import running, studies
from truebench_hf.cli.commands import Group, group
from truebench_hf.text.terminal import say
from truebench_hf.version import __version__

_ORDER = (
    "demo", "run", "judge", "compare", "check", "leaderboard", "table", "label", "metaeval", "tick", "facts", "flex", "data", "publish",
    "space", "cache", "study",
)  # fmt: skip


class _Ordered(Group):
    """The commands in the order in which people meet them."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=_ORDER.index)


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


def run() -> None:
    """Run the command; what the user can fix is one line on stderr and exit code 2."""
    running.run(whole)
