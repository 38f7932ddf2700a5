"""`truebench study export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truebench_hf.cli.commands import command
from truebench_hf.text.terminal import say


def add() -> None:
    """Add the command."""
    command("study export", _export)


def _export(
    run: Annotated[str, typer.Argument(help="Folder of a finished run or study.")],
    to: Annotated[str, typer.Option(help="every-eval-ever, inspect, verifiers, sft, csv or parquet.")],
    out: Annotated[Path, typer.Option(help="Folder for the files; those of the same names are written anew.")],
    organization: Annotated[str, typer.Option(help="every-eval-ever: who tells these results.")] = "not stated",
    relationship: Annotated[
        str, typer.Option(help="every-eval-ever: of that to the model: first_party, third_party, collaborative, other.")
    ] = "other",
) -> None:
    from truebench_hf.integrations.export import export

    for path, holds in export(run, to, out, organization=organization, relationship=relationship).items():
        say(f"{path}: {holds}")
