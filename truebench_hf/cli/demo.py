"""`truebench demo`."""

from __future__ import annotations

from typing import Annotated

import typer

from truebench_hf.cli.commands import command


def add() -> None:
    """Add the command."""
    command("demo", _demo)


def _demo(
    out: Annotated[
        str, typer.Option(help="Folder for the page; what an earlier demo left there is read again.")
    ] = "runs/demo",
    live: Annotated[bool, typer.Option(help="Whether SmolLM2 answers on this machine, too.")] = True,
) -> None:
    from truebench_hf.demo.demo import demo

    demo(out, live=live)
