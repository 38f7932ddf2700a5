"""`truebench facts run`, and what belongs to it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from truebench_hf.benchmarks.facts.classify import Classify, ClassifyOptions
from truebench_hf.benchmarks.facts.options import FactsOptions
from truebench_hf.benchmarks.facts.selecting.options import SelectOptions
from truebench_hf.benchmarks.facts.selecting.study import SelectTemplate
from truebench_hf.benchmarks.facts.study import FactsRun
from truebench_hf.cli.options import command
from truebench_hf.cli.texts import TEXTS
from truebench_hf.report.console import show
from truebench_hf.report.sections import fixed
from truebench_hf.study.options import FolderOptions
from truebench_hf.study.outcome import Outcome
from truebench_hf.terminal import complain, say


def add_to(app: typer.Typer) -> None:
    """Add the group `facts`."""
    facts = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")
    command(
        facts, "run", FactsOptions, _run,
        "Judge whether long answers are grounded in their prompt, and whether they answer at all.", TEXTS["facts run"],
    )  # fmt: skip
    command(
        facts, "select-template", SelectOptions, _select,
        "Choose, on labelled answers, how each judge is asked about grounding and eligibility.",
        TEXTS["facts select-template"],
    )  # fmt: skip
    command(
        facts, "classify", ClassifyOptions, _classify, "Sort prompts by domain and task, so that scores can be told apart.",
        TEXTS["facts classify"],
    )  # fmt: skip
    help = "Rank the models of finished runs: fused rank over judges and splits, and what disqualification moves."
    facts.command("rank", help=help, epilog=TEXTS["facts rank"])(_rank)
    app.add_typer(facts, name="facts", help="Grounding of long answers in documents (FACTS Grounding).")


def _run(options: FactsOptions) -> None:
    outcome = FactsRun(options).run()
    _shown(options, outcome)
    if options.estimate:
        return
    final, least = outcome.value.all.mean.final.value, options.fail_under
    if least is not None and (final is None or final < least):
        complain(f"the final score is {fixed(final)}, under --fail-under {least:g}")
        raise typer.Exit(1)
    if outcome.incomplete and not options.allow_unscored:
        raise typer.Exit(3)


def _select(options: SelectOptions) -> None:
    _shown(options, SelectTemplate(options).run())


def _classify(options: ClassifyOptions) -> None:
    outcome = Classify(options).run()
    _shown(options, outcome)
    if outcome.incomplete:
        raise typer.Exit(3)


def _shown(options: FolderOptions, outcome: Outcome[Any]) -> None:
    show(outcome.sections, lead=outcome.lead, notes=outcome.notes)
    if not options.estimate:
        say(f"in {options.out}: {', '.join((*outcome.files, 'report.html'))}")


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

    ranking = rank(runs)
    show(shown.sections(ranking), lead=shown.lead(ranking), notes=shown.notes(ranking))
    for file in shown.write(ranking, out) if out else ():
        say(file)
