"""The group `truebench study`: everything beyond the commands that most people use."""

from __future__ import annotations

import typer

from truebench_hf.cli.options import App
from truebench_hf.cli.texts import help_text

study = App(no_args_is_help=True, rich_markup_mode="markdown", help=help_text("study"))


def add_to(app: typer.Typer) -> None:
    """Add the group; other modules put their commands into it."""
    app.add_typer(study, name="study")
