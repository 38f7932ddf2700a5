"""The commands that are studies: their options are the flags, their sections what is printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from truebench_hf.benchmarks.rubric_eval.arbitration.study import ArbitrateOptions, Arbitration
from truebench_hf.benchmarks.rubric_eval.calibration.study import CalibrateOptions, Calibration
from truebench_hf.benchmarks.rubric_eval.contrast import Contrast, ContrastOptions
from truebench_hf.benchmarks.rubric_eval.metaeval.study import Metaeval, MetaevalOptions
from truebench_hf.benchmarks.rubric_eval.taxonomy.study import TaxonomyOptions, TaxonomyStudy
from truebench_hf.benchmarks.tick.best_of.study import BestOf, BestOfOptions
from truebench_hf.benchmarks.tick.generate import GenerateChecklistOptions, GenerateChecklists
from truebench_hf.benchmarks.tick.given import Score, ScoreOptions
from truebench_hf.benchmarks.tick.refine.study import Refine, RefineOptions
from truebench_hf.benchmarks.tick.study import Tick, TickOptions
from truebench_hf.benchmarks.truebench.options import GenerateOptions, JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.study import Generate, JudgeAnswers, Run
from truebench_hf.cli.checklist import checklist
from truebench_hf.cli.options import command
from truebench_hf.cli.texts import TEXTS
from truebench_hf.report.console import show
from truebench_hf.terminal import say

_COMMANDS: dict[str, tuple[type[Any], Callable[[Any], Any], str]] = {
    "run": (RunOptions, Run, "Score a model on TRUEBench: answer, judge every criterion, print scores."),
    "generate": (GenerateOptions, Generate, "First stage of a run: only the answers."),
    "judge": (JudgeGivenOptions, JudgeAnswers, "Second stage of a run: judge the answers in a run folder."),
    "metaeval": (MetaevalOptions, Metaeval, "Measure judges on labelled rubrics, under every paradigm."),
    "taxonomy": (TaxonomyOptions, TaxonomyStudy, "Sort rubrics into 13 types, and chart where they come from."),
    "calibrate": (
        CalibrateOptions, Calibration,
        "Fit a decision judge's probabilities and threshold on labelled data, and price cascades behind it.",
    ),
    "arbitrate": (ArbitrateOptions, Arbitration, "Label rubrics by base judges and meta-judges (RubricEval)."),
    "contrast": (ContrastOptions, Contrast, "Contrast pairs: minimal edits that turn one rubric over."),
    "best-of": (BestOfOptions, BestOf, "Draw N answers, and let the model select the best ones (STICK)."),
    "refine": (RefineOptions, Refine, "Let a model improve its answers by its own checklists (STICK)."),
    "tick": (TickOptions, Tick, "Compare models on any prompts, by checklists made for them (TICK)."),
    "checklist generate": (GenerateChecklistOptions, GenerateChecklists, "Write a checklist for every instruction."),
    "checklist score": (ScoreOptions, Score, "Judge given responses by checklists, one question a call."),
}  # fmt: skip


def add_to(app: typer.Typer) -> None:
    """Add one command per study; `GROUP NAME` goes into the group."""
    groups = {"": app, "checklist": checklist}
    for name, (options, study, help) in _COMMANDS.items():
        group, _, last = name.rpartition(" ")
        command(groups[group], last, options, _shown(study), help, TEXTS[name])


def _shown(study: Callable[[Any], Any]) -> Callable[[Any], None]:
    def run(options: Any) -> None:
        outcome = study(options).run()
        show(outcome.sections, lead=outcome.lead, notes=outcome.notes)
        if options.estimate:
            return
        report = ["report.html"] if outcome.sections else []
        say(f"in {options.out}: {', '.join((*outcome.files, *report))}")
        if outcome.incomplete and not getattr(options, "allow_unscored", False):
            raise typer.Exit(3)

    return run
