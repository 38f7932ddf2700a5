"""What people say of verdicts: `truebench label sample` and `label read` for runs, `study arbitrate-sheets` for arbitrations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from truebench_hf.cli.options import App
from truebench_hf.cli.texts import help_text
from truebench_hf.errors import UserError
from truebench_hf.text.terminal import say

Run = Annotated[Path, typer.Argument(help="Run folder: the --out of `truebench run`.")]
Model = Annotated[str | None, typer.Option(help="Of a run of several models: whose responses, as run.json names it.")]


def add_to(app: typer.Typer, study: typer.Typer) -> None:
    """Add the commands that bring in the labels of people."""
    label = App(no_args_is_help=True, rich_markup_mode="markdown", help=help_text("label"))
    label.command("sample", help=help_text("label sample"))(_sample)
    label.command("read", help=help_text("label read"))(_read)
    app.add_typer(label, name="label")
    study.command("arbitrate-sheets", help=help_text("study arbitrate-sheets"))(_sheets)
    study.command("compare-criteria-sheets", help=help_text("study compare-criteria-sheets"))(_criteria_sheets)


def _sample(
    run: Run,
    n: Annotated[
        int | None,
        typer.Option(help="How many units; 200 if not given, or all there are. More later holds these, too."),
    ] = None,
    unit: Annotated[
        str, typer.Option(help="instance (all criteria of one, until the first no) or criterion.")
    ] = "instance",
    annotators: Annotated[str, typer.Option(help="Names, separated by commas; each gets all of them.")] = "A",
    seed: Annotated[int, typer.Option(help="Seed of the draw and of each annotator's order.")] = 0,
    out: Annotated[str | None, typer.Option(help="Folder of the sheets; RUN/sheets if not given.")] = None,
    unlabelled: Annotated[
        bool, typer.Option(help="Only what is not settled yet: after a larger --n, or half-filled sheets.")
    ] = False,
    model: Model = None,
) -> None:
    from truebench_hf.benchmarks.truebench.label import sample

    names = [name.strip() for name in annotators.split(",")]
    for file in sample(str(run), n, names, seed, out, unit=unit, unlabelled=unlabelled, model=model):
        say(file)


def _read(
    run: Run,
    files: Annotated[
        list[str] | None, typer.Argument(help="Filled-in sheets, CSV or JSON, or folders of them.")
    ] = None,
    decisions: Annotated[list[str] | None, typer.Option(help="Sheet of an adjudicator; may be repeated.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="labels.jsonl of another run: they correct this one only if model and judge are the same."),
    ] = None,
    model: Model = None,
) -> None:
    from truebench_hf.benchmarks.truebench import label
    from truebench_hf.benchmarks.truebench.human_labels import agreement
    from truebench_hf.benchmarks.truebench.results import shown
    from truebench_hf.benchmarks.truebench.sections import lead
    from truebench_hf.report.console import show

    if bool(files or decisions) == bool(labels):
        raise UserError(
            "give filled-in sheets, or --decisions of an adjudicator, or --labels with those of another run"
        )
    if labels:
        report = label.borrow(str(run), labels, model=model)
    else:
        report, among = label.read(str(run), files or [], decisions or [], model=model)
        corrected = report.bias_corrected
        show([agreement(among, (corrected if "unit" in corrected else corrected[str(model)])["unit"])])
    show(shown(report), lead=lead(report), notes=report.notes)
    say(f"report: {run / 'report.html'}")


def _sheets(
    folder: Annotated[str, typer.Argument(help="Folder of a finished `truebench study arbitrate`.")],
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


def _criteria_sheets(
    folder: Annotated[str, typer.Argument(help="Folder of a finished `truebench study compare-criteria`.")],
    annotators: Annotated[
        str, typer.Option(help="Names of the raters, separated by commas; each gets all responses.")
    ] = "first,second,third",
    out: Annotated[str | None, typer.Option(help="Where sheets go; FOLDER/sheets if not given.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of each rater's order.")] = 0,
) -> None:
    from truebench_hf.benchmarks.truebench.criteria_types.people import export

    names = [name.strip() for name in annotators.split(",") if name.strip()]
    for file in export(folder, names, out, seed):
        say(file)
