"""`truebench flex ...`: one instruction becomes its own benchmark (FlexBench, FlexEval)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truebench_hf.errors import UserError

Folder = Annotated[
    str, typer.Argument(help="Folder of a benchmark that `truebench flex score` has judged, or its --out.")
]
Page = Annotated[Path | None, typer.Option(help="HTML file to write the report to, too.")]


def table(
    folders: Annotated[list[str], typer.Argument(help="Folders that `truebench flex score` has judged, or its --out.")],
    out: Page = None,
) -> None:
    """`truebench flex study table`."""
    from truebench_hf.benchmarks.flexbench.tables import table_sections
    from truebench_hf.report.console import present

    present("FlexEval: tables", table_sections(folders), out)


def stability(
    folder: Folder,
    seeds: Annotated[str, typer.Option(help="The two seeds, separated by a comma: 0,1.")],
    out: Page = None,
) -> None:
    """`truebench flex study stability`."""
    from truebench_hf.benchmarks.flexbench.scores import read_judged
    from truebench_hf.benchmarks.flexbench.stability import stability, stability_sections
    from truebench_hf.report.console import present

    pair = [seed.strip() for seed in seeds.split(",")]
    if len(pair) != 2 or pair[0] == pair[1] or not all(pair):
        raise UserError(f"--seeds {seeds}: give two different seeds, separated by a comma")
    present("FlexEval: stability", stability_sections(stability(*read_judged(folder), (pair[0], pair[1]))), out)


def agree(
    folder: Folder,
    experts: Annotated[
        list[str] | None,
        typer.Option(
            help="Labels of experts: a labels.jsonl, filled-in sheets, or rows with id and verdicts (dimension_id, label); "
            "repeatable. FOLDER/labels.jsonl, which `truebench label in` writes, if not given."
        ),
    ] = None,
    crowd: Annotated[
        list[str] | None, typer.Option(help="The same of other people, to be compared; repeatable.")
    ] = None,
    out: Page = None,
) -> None:
    """`truebench flex study agree`."""
    from truebench_hf.benchmarks.flexbench.agree import agree, agreement_tables, labels_of, read_labels
    from truebench_hf.benchmarks.flexbench.scores import read_judged
    from truebench_hf.report.console import present
    from truebench_hf.report.labels import FILE

    procedure, judged = read_judged(folder)
    own = Path(folder) / FILE
    if not experts and not own.is_file():
        raise UserError(
            f"{folder}: has no labels of people; `truebench label out {folder}` asks them, or give --experts"
        )
    known = read_labels(experts or [str(own)], judged)
    others = {"judge": labels_of(judged)} | ({"crowd": read_labels(crowd, judged)} if crowd else {})
    present(
        "FlexEval: agreement",
        agreement_tables({name: agree(procedure, known, labels) for name, labels in others.items()}),
        out,
    )
