"""`truebench study checklist ...`: checklists by themselves, without a benchmark around them, and sheets for annotators."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truebench_hf.cli.options import App
from truebench_hf.cli.texts import help_text
from truebench_hf.errors import UserError
from truebench_hf.text.terminal import how_many, say

checklist = App(no_args_is_help=True, rich_markup_mode="markdown", help=help_text("study checklist"))

Data = Annotated[str, typer.Option(help="checklists_mini, rows in its columns, rows with criteria, or SOURCE:PATH.")]
Seed = Annotated[int, typer.Option(help="Draws rows, sides and each annotator's order; and the bootstrap.")]


def add_to(study: typer.Typer) -> None:
    """Add the group with what is no study; its studies are added by `studies`."""
    checklist.command("sheets", help=help_text("study checklist sheets"))(_sheets)
    checklist.command("read-sheets", help=help_text("study checklist read-sheets"))(_read_sheets)
    study.add_typer(checklist, name="checklist")


def _sheets(
    data: Data,
    protocol: Annotated[str, typer.Option(help="write, preference, direct, or check-then-score.")],
    out: Annotated[str, typer.Option(help="Folder of the sheets.")],
    annotators: Annotated[str, typer.Option(help="Names, separated by commas; each gets all of them.")] = "A",
    n: Annotated[int | None, typer.Option("--n", help="Only N instructions, drawn by language and category.")] = None,
    author: Annotated[
        str | None, typer.Option(help="Whose checklist is answered; the chosen one if not given, or else the first.")
    ] = None,
    seed: Seed = 0,
) -> None:
    from truebench_hf.benchmarks.tick import data as source
    from truebench_hf.benchmarks.tick.annotation.questions import asked_about, rows
    from truebench_hf.report import sheets

    if n is not None and n < 1:
        raise UserError(f"--n {n}: must be at least 1")
    there = asked_about(source.load(data), protocol, author)
    chosen = source.selection(there).sampled(n, seed)
    asked = rows(chosen, protocol, author, seed)
    names = [name.strip() for name in annotators.split(",") if name.strip()]
    for file in sheets.export(asked, out, names, seed):
        say(file)
    say(f"{how_many(len(asked), 'question')} about {how_many(len(chosen), 'instruction')}")


def _read_sheets(
    data: Data,
    files: Annotated[
        list[str] | None, typer.Argument(help="Filled-in sheets, CSV or JSON, or folders of them.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="JSONL that the rows are written to with all answers; may be the data's own file."),
    ] = None,
    seed: Seed = 0,
) -> None:
    from truebench_hf.benchmarks.tick import data as source
    from truebench_hf.benchmarks.tick.annotation import answers
    from truebench_hf.benchmarks.tick.annotation.agreement import sections
    from truebench_hf.report.console import show

    if bool(files) != (out is not None):
        raise UserError(
            "give filled-in sheets and --out, a file for the rows with them; or neither: what the data holds"
        )
    entries = source.load(data)
    if files and out is not None:
        if out.exists() and not (Path(data).exists() and out.samefile(data)):
            raise UserError(f"--out {out}: is there already; name another file, or that of --data to add to it")
        found = answers.joined(entries, files)
        answers.write(out, found.rows)
        entries = answers.read_rows(found.rows)
        told = ", ".join(f"{count} {what}" for what, count in found.counts.items()) or "nothing new"
        show([], notes=found.notes)
        say(f"new: {told}; rows: {out}")
    show(sections(entries, seed))
