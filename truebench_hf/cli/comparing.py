"""`truebench compare`, `leaderboard` and `correlate`: what finished results say beside each other. No model is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truebench_hf.cli.commands import command
from truebench_hf.errors import unknown
from truebench_hf.text.terminal import say

Out = Annotated[Path | None, typer.Option(help="Folder for the report and the tables.")]


FORMATS = ("terminal", "latex", "markdown", "csv", "json")


def add() -> None:
    """Add the commands."""
    command("compare", _compare)
    command("leaderboard", _leaderboard)
    command("table", _table)
    command("study correlate", _correlate)


def _compare(
    run_a: Annotated[str, typer.Argument(help="Folder of a finished run.")],
    run_b: Annotated[str, typer.Argument(help="Folder of another, of the same kind.")],
    model_a: Annotated[str | None, typer.Option(help="Which model of RUN_A, where it holds several.")] = None,
    model_b: Annotated[str | None, typer.Option(help="Which model of RUN_B, where it holds several.")] = None,
    out: Out = None,
) -> None:
    from truebench_hf.comparing import compare_sections as shown
    from truebench_hf.comparing.compare import compare
    from truebench_hf.report.output import present

    found = compare(run_a, run_b, model_a=model_a, model_b=model_b)
    page = out / "report.html" if out else None
    sections = shown.sections(found, page=page is not None)
    present(shown.title(found), sections, page, notes=shown.notes(found), files=shown.files(found))


def _leaderboard(
    folders: Annotated[list[str] | None, typer.Argument(help="The same as --runs.", metavar="[RUNS]...")] = None,
    runs: Annotated[
        list[str] | None, typer.Option(help="Run folders, or folders of them; several may follow.", metavar="FOLDER")
    ] = None,
    with_published: Annotated[
        bool, typer.Option("--with-published", help="With the results that the paper prints.")
    ] = False,
    kind: Annotated[str, typer.Option(help="Which kind of runs: truebench, facts, tick ...")] = "truebench",
    out: Out = None,
) -> None:
    from truebench_hf.comparing import leaderboard_sections as shown
    from truebench_hf.comparing.leaderboard import leaderboard
    from truebench_hf.report.output import present

    found = leaderboard([*(runs or ()), *(folders or ())], published=with_published, kind=kind)
    page = out / "report.html" if out else None
    present(shown.title(found), shown.sections(found), page, notes=shown.notes(found), files=shown.files(found))


def _table(
    runs: Annotated[list[str], typer.Argument(help="Run folders, or folders of them.")],
    by: Annotated[
        str, typer.Option(help="Scores beside the main one: overview, categories, languages ...")
    ] = "overview",
    format: Annotated[str, typer.Option(help=f"{', '.join(FORMATS)}.")] = "terminal",
) -> None:
    from truebench_hf.comparing.score_table import score_table
    from truebench_hf.report.console import show

    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    table = score_table(runs, by)
    if format == "terminal":
        show([table])
    else:
        say(table.rendered(format), end="")


def _correlate(
    scores: Annotated[
        list[str],
        typer.Option(help="Table of scores, run folders (several may follow), or published.", metavar="SOURCE"),
    ],
    others: Annotated[list[str], typer.Option("--with", help="The same, to hold them against.", metavar="SOURCE")],
    folders: Annotated[list[str] | None, typer.Argument(help="More of --scores.", metavar="[RUNS]...")] = None,
    column: Annotated[list[str] | None, typer.Option(help="Column of --scores; may be repeated.")] = None,
    with_column: Annotated[list[str] | None, typer.Option(help="Column of --with; may be repeated.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.")] = 0,
    out: Out = None,
) -> None:
    from truebench_hf.comparing import correlate_sections as shown
    from truebench_hf.comparing.correlate import correlate
    from truebench_hf.report.output import present

    found = correlate(
        [*scores, *(folders or ())], others, column=column or (), with_column=with_column or (), seed=seed
    )
    page = out / "report.html" if out else None
    present(shown.title(found), shown.sections(found), page, notes=shown.notes(found), files=shown.files(found))
