"""`truebench study score`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truebench_hf.errors import UserError, unknown
from truebench_hf.text.terminal import say

if TYPE_CHECKING:
    from truebench_hf.data.records import Stamp
    from truebench_hf.results.verdicts import VerdictFrames


def score(
    files: Annotated[list[Path], typer.Argument(help="Run folders, or files of judged instances.")],
    protocol: Annotated[str, typer.Option(help="default, or official: exactly the official tables.")] = "default",
    allow_unscored: Annotated[
        bool, typer.Option("--allow-unscored", help="Exit with 0 even when instances are left unscored.")
    ] = False,
) -> None:
    """`truebench study score`."""
    from truebench_hf.benchmarks.truebench.results import (
        category_table,
        judgments,
        language_table,
        read_frames,
        usage_table,
    )
    from truebench_hf.benchmarks.truebench.scores import unfinished
    from truebench_hf.data.records import stamp
    from truebench_hf.judging.rules.deciding import JUDGE
    from truebench_hf.report.csv_table import csv_text

    if protocol not in ("default", "official"):
        raise unknown("protocol", protocol, ("default", "official"))
    before = {path: stamp(judgments(path)) for path in files}
    runs = [(path, *run) for path in files for run in read_frames(path).runs()]
    if protocol == "official":
        if multi_sample := [path for path, _, _, frames in runs if (frames.responses["sample"] > 1).any()]:
            raise UserError(
                f"{multi_sample[0]}: has several samples of an instance, official tables one; leave out --protocol"
            )
        if ruled := [path for path, _, _, frames in runs if (frames.verdicts["judge"] == JUDGE).any()]:
            raise UserError(f"{ruled[0]}: rules decided some of it, which the official protocol knows none of")
        named = [(model, frames) for _, model, _, frames in runs]
        tables = [category_table(named, True), language_table(named, True)]
        tables.append(usage_table(named))
        say("\n".join(map(csv_text, tables)), end="")
        unscored = sum(unfinished(frames) for _, _, _, frames in runs)
    else:
        unscored = sum([_scored(*run, before[run[0]]) for run in runs])
    if unscored and not allow_unscored:
        raise typer.Exit(3)


def _scored(path: Path, model: str, judge: str, frames: VerdictFrames, before: Stamp) -> int:
    """Print the scores of one run; returns how many instances are unscored that should not be."""
    from truebench_hf.benchmarks.truebench.board import models_of, one_model
    from truebench_hf.benchmarks.truebench.correction import corrected
    from truebench_hf.benchmarks.truebench.labels import FILE, label_place
    from truebench_hf.benchmarks.truebench.results import (
        judgments,
        made_by,
        no_context,
        provenance,
        read_each,
        without_doubles,
    )
    from truebench_hf.benchmarks.truebench.scores import score, unfinished
    from truebench_hf.benchmarks.truebench.tables import lead, run_charts, run_tables
    from truebench_hf.data.records import unchanged
    from truebench_hf.report.console import show

    once, doubled = frames.without_doubles()
    if doubled:
        say(f"{model}: {doubled} rows stand twice; each counts once, its last row")
    info = made_by(path)
    origin = provenance(one_model(info, model) if info else {"settings": {"model": model, "judge": judge}})
    report = score(once, provenance=origin)
    folder = path if path.is_dir() else path.parent
    folder = label_place(folder, model, models_of(info["settings"]) if info else [model])
    if info and (folder / FILE).exists():  # labels are on texts, which are read again for them
        each = (item for item, _ in read_each(path, no_context) if item.response.model == model)
        report = corrected(report, without_doubles(list(each))[0] if doubled else each, folder)
        unchanged(judgments(path), before)
    show([*run_tables(report), *run_charts(report, frames=once)], lead=lead(report), notes=report.notes)
    return unfinished(once)
