"""`truebench space`."""

from __future__ import annotations

import typer

from truebench_hf.cli.options import command
from truebench_hf.space.options import SpaceOptions


def add_to(app: typer.Typer) -> None:
    """Add the command of the Space."""
    command(app, "space", SpaceOptions, _space, "Serve the leaderboard and playground on this machine.")


def _space(options: SpaceOptions) -> None:
    from truebench_hf.space.app import serve

    serve(options)
