"""`truebench facts ...`: grounding of long answers in documents (FACTS Grounding)."""

from __future__ import annotations

from typing import Annotated

import typer

from truebench_hf.cli.options import App
from truebench_hf.cli.texts import help_text
from truebench_hf.text.terminal import say

facts = App(no_args_is_help=True, rich_markup_mode="markdown", help=help_text("facts"))


def add_to(app: typer.Typer) -> None:
    """Add the group; its studies are added by `studies`."""
    facts.command("rank", help=help_text("facts rank"))(_rank)
    app.add_typer(facts, name="facts")


def _rank(
    runs: Annotated[
        list[str], typer.Argument(help="Folders of `truebench facts run`, judged alike; one or more a model.")
    ],
    out: Annotated[
        str | None, typer.Option(help="Write the report (.html), the figures (.json), or both into a folder.")
    ] = None,
) -> None:
    from truebench_hf.benchmarks.facts import ranking_sections as shown
    from truebench_hf.benchmarks.facts.ranking import rank
    from truebench_hf.report.console import show

    ranking = rank(runs)
    show(shown.sections(ranking), lead=shown.lead(ranking), notes=shown.notes(ranking))
    for file in shown.write(ranking, out) if out else ():
        say(file)
