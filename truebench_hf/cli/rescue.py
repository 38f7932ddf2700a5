"""`truebench study rescue`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truebench_hf.cli.commands import command
from truebench_hf.terminal import say


def add() -> None:
    """Add the command that makes a damaged ledger anew."""
    command("study rescue", _rescue)


def _rescue(path: Annotated[str, typer.Argument(help="Folder of a run, or the file of a cache.")]) -> None:
    from truebench_hf.engine.rescue import rescue

    found = rescue(Path(path))
    saved = ", ".join(f"{role} {count:,}" for role, count in found.saved.items())
    if found.moved is None:
        say(f"{path}: nothing is damaged; answers: {saved or 'none'}")
    else:
        say(f"answers saved: {sum(found.saved.values()):,}{saved and f' ({saved})'}")
        again = "asks for them again" if found.saved else "begins anew, and names first what results it would replace"
        say(f"answers lost, as far as can be told: {found.lost:,}; the command of the run {again}")
        say(f"the damaged file is {found.moved} now")
    if found.info:
        say(f"{path}: run.json was lost or torn, and is made again")
