"""`truebench facts ...`: grounding of long answers in documents (FACTS Grounding)."""

from __future__ import annotations

from typing import Annotated

import typer

from truebench_hf.cli.commands import command
from truebench_hf.text.terminal import say


def add() -> None:
    """Add the command; the studies of the group are added by `studies`."""
    command("facts rank", _rank)


def _rank(
    runs: Annotated[
        list[str], typer.Argument(help="Folders of `truebench facts run`, judged alike; one or more a model.")
    ],
    out: Annotated[
        str | None, typer.Option(help="Write the report (.html), the figures (.json), or both into a folder.")
    ] = None,
) -> None:
    from truebench_hf.benchmarks.facts import rank_tables as shown
    from truebench_hf.benchmarks.facts.rank import rank
    from truebench_hf.report.console import show

    ranking = rank(runs)
    show(shown.tables(ranking), lead=shown.lead(ranking), notes=list(shown.notes(ranking)))
    for file in shown.write(ranking, out) if out else ():
        say(file)
