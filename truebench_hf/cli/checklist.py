"""`truebench checklist ...`: checklists by themselves, without a benchmark around them."""

from __future__ import annotations

import typer

checklist = typer.Typer(no_args_is_help=True, help="Write, score and validate checklists (TICK).")


def add_to(app: typer.Typer) -> None:
    """Add the group; its studies are added by `studies`."""
    app.add_typer(checklist, name="checklist")
