"""`truebench flex ...`: one instruction becomes its own benchmark (FlexBench, FlexEval)."""

from __future__ import annotations

import typer

flex = typer.Typer(no_args_is_help=True, help="Turn one instruction into its own benchmark (FlexBench, FlexEval).")


def add_to(app: typer.Typer) -> None:
    """Add the group; its studies are added by `studies`."""
    app.add_typer(flex, name="flex")
