"""`truebench flex ...`: one instruction becomes its own benchmark (FlexBench, FlexEval)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truebench_hf.cli.options import App
from truebench_hf.cli.texts import help_text
from truebench_hf.errors import UserError
from truebench_hf.text.terminal import say

flex = App(no_args_is_help=True, rich_markup_mode="markdown", help=help_text("flex"))
flex_study = App(no_args_is_help=True, rich_markup_mode="markdown", help=help_text("flex study"))
Folder = Annotated[
    str, typer.Argument(help="Folder of a benchmark that `truebench flex score` has judged, or its --out.")
]
Page = Annotated[Path | None, typer.Option(help="HTML file to write the report to, too.")]


def add_to(app: typer.Typer) -> None:
    """Add the group; its studies are added by `studies`."""
    flex_study.command("table", help=help_text("flex study table"))(_table)
    flex_study.command("stability", help=help_text("flex study stability"))(_stability)
    flex_study.command("sheets", help=help_text("flex study sheets"))(_sheets)
    flex_study.command("agree", help=help_text("flex study agree"))(_agree)
    flex.add_typer(flex_study, name="study")
    app.add_typer(flex, name="flex")


def _table(
    folders: Annotated[list[str], typer.Argument(help="Folders that `truebench flex score` has judged, or its --out.")],
    out: Page = None,
) -> None:
    from truebench_hf.benchmarks.flexbench import table
    from truebench_hf.report.output import present

    present("FlexEval: tables", table.sections(folders), out)


def _stability(
    folder: Folder,
    seeds: Annotated[str, typer.Option(help="The two seeds, separated by a comma: 0,1.")],
    out: Page = None,
) -> None:
    from truebench_hf.benchmarks.flexbench.judgments import read_judged
    from truebench_hf.benchmarks.flexbench.stability import sections, stability
    from truebench_hf.report.output import present

    pair = [seed.strip() for seed in seeds.split(",")]
    if len(pair) != 2 or pair[0] == pair[1] or not all(pair):
        raise UserError(f"--seeds {seeds}: give two different seeds, separated by a comma")
    present("FlexEval: stability", sections(stability(*read_judged(folder), (pair[0], pair[1]))), out)


def _sheets(
    folder: Folder,
    annotators: Annotated[str, typer.Option(help="Names, separated by commas; each gets all of them.")] = "A",
    limit: Annotated[int | None, typer.Option(help="Only N conversations, drawn at random.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw and of each annotator's order.")] = 0,
    out: Annotated[str | None, typer.Option(help="Folder of the sheets; FOLDER/sheets if not given.")] = None,
) -> None:
    from truebench_hf.benchmarks.flexbench.agreement import sheet_rows
    from truebench_hf.benchmarks.flexbench.judgments import read_judged
    from truebench_hf.engine.sample import sample
    from truebench_hf.report.sheets import export

    procedure, judged = read_judged(folder)
    chosen = sample(judged, limit, lambda one: f"{one.talk.model} {one.talk.seed} {one.talk.id}",
                    lambda one: (one.talk.model,), seed)  # fmt: skip
    names = [name.strip() for name in annotators.split(",")]
    for file in export(sheet_rows(procedure, chosen), out or Path(folder) / "sheets", names, seed):
        say(str(file))


def _agree(
    folder: Folder,
    experts: Annotated[
        list[str],
        typer.Option(
            help="Filled-in sheets of experts, or rows with id and verdicts (dimension_id, label); repeatable."
        ),
    ],
    crowd: Annotated[
        list[str] | None, typer.Option(help="The same of other people, to be compared; repeatable.")
    ] = None,
    out: Page = None,
) -> None:
    from truebench_hf.benchmarks.flexbench.agreement import agree, labels_of, read_labels, sections
    from truebench_hf.benchmarks.flexbench.judgments import read_judged
    from truebench_hf.report.output import present

    procedure, judged = read_judged(folder)
    known = read_labels(experts, judged)
    others = {"judge": labels_of(judged)} | ({"crowd": read_labels(crowd, judged)} if crowd else {})
    present(
        "FlexEval: agreement", sections({name: agree(procedure, known, told) for name, told in others.items()}), out
    )
