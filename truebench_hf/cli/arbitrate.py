"""`truebench arbitrate-sheets`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truebench_hf.terminal import say


def add_to(app: typer.Typer) -> None:
    """Add the command that takes arbitrated labels to people."""
    app.command("arbitrate-sheets", help="Arbitrated labels to people as annotation sheets, and back as agreement.")(
        _sheets
    )


def _sheets(
    folder: Annotated[str, typer.Argument(help="Folder of a finished `truebench arbitrate`.")],
    n: Annotated[int, typer.Option("--n", help="Rows to annotate, stratified by split and category.")] = 160,
    annotators: Annotated[str, typer.Option(help="Names, separated by commas: one sheet each.")] = "first,second",
    out: Annotated[str | None, typer.Option(help="Where sheets go; by default FOLDER/sheets.")] = None,
    seed: Annotated[int, typer.Option(help="Draws the rows and each annotator's order.")] = 0,
    read: Annotated[list[str] | None, typer.Option(help="Filled-in sheet or folder to read back; repeatable.")] = None,
    decisions: Annotated[list[str] | None, typer.Option(help="Adjudicator's sheet, settles ties; repeatable.")] = None,
) -> None:
    from truebench_hf.benchmarks.rubric_eval.arbitration import sheets as arbitration_sheets
    from truebench_hf.benchmarks.rubric_eval.arbitration.sections import human_section
    from truebench_hf.report.console import show

    if read:
        found = arbitration_sheets.compare(folder, read, decisions or ())
        show([human_section(found)])
        if found["open"]:
            say(f"Open, left out: {len(found['open'])} (ties or unanswered): {', '.join(found['open'][:5])}")
            say("Until an adjudicator settles them (--decisions), accuracy and kappa are upper estimates.")
        say(f"labels of people: {Path(folder) / 'human.jsonl'}")
        return
    names = [name.strip() for name in annotators.split(",") if name.strip()]
    files, strata = arbitration_sheets.export(folder, n, names, out or str(Path(folder) / "sheets"), seed)
    for name, count in strata.items():
        say(f"{count:5} {name}")
    say("sheets: " + ", ".join(map(str, files)))
