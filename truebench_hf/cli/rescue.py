"""`truebench rescue`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truebench_hf.cli import panels
from truebench_hf.cli.texts import TEXTS
from truebench_hf.terminal import say


def add_to(app: typer.Typer) -> None:
    """Add the command that makes a damaged ledger anew."""
    help = "Keep what can be read of a damaged ledger, in a run folder or as the file of a cache."
    app.command("rescue", help=help, epilog=TEXTS["rescue"], rich_help_panel=panels.REST)(_rescue)


def _rescue(path: Annotated[str, typer.Argument(help="Folder of a run, or the file of a cache.")]) -> None:
    from truebench_hf.engine.rescue import rescue

    found = rescue(Path(path))
    saved = ", ".join(f"{role} {count:,}" for role, count in found.saved.items())
    if found.moved is None:
        say(f"{path}: nothing is damaged; answers: {saved or 'none'}")
    else:
        say(f"answers saved: {sum(found.saved.values()):,}{saved and f' ({saved})'}")
        say(f"answers lost, as far as can be told: {found.lost:,}; the command of the run asks for them again")
        say(f"the damaged file is {found.moved} now")
    if found.info:
        say(f"{path}: run.json was lost or torn, and is made again")
