"""The commands that are studies: their options are the flags, their sections what is printed.

A study is loaded when its command is called, or when its own `--help` is shown: all of them would take a second.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import typer

from truebench_hf.cli import panels
from truebench_hf.cli.checklist import checklist
from truebench_hf.cli.facts import facts
from truebench_hf.cli.flex import flex
from truebench_hf.cli.options import command, later
from truebench_hf.terminal import complain, say

# By name: where it is below `truebench_hf.benchmarks` (or in full), its options, its class, and what it does.
_COMMANDS: dict[str, tuple[str, str, str, str]] = {
    "run": (
        "truebench.study", "RunOptions", "Run",
        "Score a model on TRUEBench: answer, judge every criterion, print scores.",
    ),
    "generate": ("truebench.study", "GenerateOptions", "Generate", "First stage of a run: only the answers."),
    "judge": (
        "truebench.study", "JudgeGivenOptions", "JudgeAnswers",
        "Second stage of a run: judge the answers in a run folder.",
    ),
    "validate": (
        "truebench.validation.study", "ValidateCriteriaOptions", "ValidateCriteria",
        "Have a model look for what is wrong with the criteria of a benchmark, or with its instructions.",
    ),
    "refine-criteria": (
        "truebench.refinement.study", "RefineCriteriaOptions", "RefineCriteria",
        "Refine criteria until judge and people agree, and a validator finds no defect.",
    ),
    "rules": (
        "truebench.rules", "RulesOptions", "Rules",
        "Find which criteria a program can decide or measure, as rows that people check.",
    ),
    "metaeval": (
        "rubric_eval.metaeval.study", "MetaevalOptions", "Metaeval",
        "Measure judges on labelled rubrics, under every paradigm.",
    ),
    "calibrate": (
        "rubric_eval.calibration.study", "CalibrateOptions", "Calibration",
        "Fit a decision judge's probabilities and threshold on labelled data, and price cascades behind it.",
    ),
    "distil": (
        "truebench_hf.distil.study", "DistilOptions", "Distil",
        "Train a small judge of one's own on the verdicts of finished runs.",
    ),
    "arbitrate": (
        "rubric_eval.arbitration.study", "ArbitrateOptions", "Arbitration",
        "Label rubrics by base judges and meta-judges (RubricEval).",
    ),
    "contrast": (
        "rubric_eval.contrast", "ContrastOptions", "Contrast",
        "Contrast pairs: minimal edits that turn one rubric over.",
    ),
    "taxonomy": (
        "rubric_eval.taxonomy.study", "TaxonomyOptions", "TaxonomyStudy",
        "Sort rubrics into 13 types, and chart where they come from.",
    ),
    "compare-criteria": (
        "truebench.criteria_types.study", "CompareCriteriaOptions", "CompareCriteria",
        "Hold four types of criteria against people on the same responses.",
    ),
    "tick": ("tick.study", "TickOptions", "Tick", "Compare models on any prompts, by checklists made for them (TICK)."),
    "checklist generate": (
        "tick.generate", "GenerateChecklistOptions", "GenerateChecklists",
        "Write a checklist for every instruction.",
    ),
    "checklist score": (
        "tick.given", "ScoreOptions", "Score",
        "Judge given responses by checklists, one question a call.",
    ),
    "checklist validate": (
        "tick.validation.study", "ValidateOptions", "Validate",
        "Hold checklists against chosen ones, and who answers them against annotators (TICK).",
    ),
    "checklist categories": (
        "tick.categories.study", "CategoriesOptions", "Categories",
        "Sort the questions of checklists, and pass rates by that.",
    ),
    "pairwise": (
        "tick.pairwise.study", "PairwiseOptions", "Pairwise",
        "Hold judges against people's preferences between two responses, by four protocols (TICK).",
    ),
    "refine": (
        "tick.refine.study", "RefineOptions", "Refine",
        "Let a model improve its answers by its own checklists (STICK).",
    ),
    "best-of": (
        "tick.best_of.study", "BestOfOptions", "BestOf",
        "Draw N answers, and let the model select the best ones (STICK).",
    ),
    "facts run": (
        "facts.study", "FactsOptions", "FactsRun",
        "Judge whether long answers are grounded in their prompt, and whether they answer at all.",
    ),
    "facts select-template": (
        "facts.selecting.study", "SelectOptions", "SelectTemplate",
        "Choose, on labelled answers, how each judge is asked about grounding and eligibility.",
    ),
    "facts classify": (
        "facts.classify", "ClassifyOptions", "Classify",
        "Sort prompts by domain and task, so that scores can be told apart.",
    ),
    "flex build": (
        "flexbench.derivation.study", "BuildOptions", "FlexBuild",
        "Take an instruction apart into dimensions: its own benchmark.",
    ),
    "flex simulate": (
        "flexbench.simulation.study", "SimulateOptions", "FlexSimulate",
        "Have a model talk with simulated users by an instruction.",
    ),
    "flex profiles": (
        "flexbench.simulation.grading", "ProfileOptions", "FlexProfiles",
        "Draw kinds of users from real conversations.",
    ),
    "flex score": (
        "flexbench.score", "FlexScoreOptions", "FlexScore",
        "Judge conversations by their dimensions: Coverage and Achievement.",
    ),
    "flex decompose": (
        "flexbench.decompose.study", "DecomposeOptions", "FlexDecompose",
        "Hold our dimensions against questions that people wrote.",
    ),
}  # fmt: skip

_PANELS = dict.fromkeys(("run", "generate", "judge", "validate", "refine-criteria", "rules"), panels.SCORE)
_PANELS |= dict.fromkeys(
    ("metaeval", "calibrate", "distil", "arbitrate", "contrast", "taxonomy", "pairwise", "compare-criteria"),
    panels.JUDGES,
)
_PANELS |= dict.fromkeys(("tick", "refine", "best-of"), panels.ANY)


def load(name: str) -> tuple[type[Any], Callable[[Any], Any]]:
    """The options and the study of a command."""
    place, options, study, _ = _COMMANDS[name]
    module = import_module(place if place.startswith("truebench_hf.") else f"truebench_hf.benchmarks.{place}")
    return getattr(module, options), getattr(module, study)


def add_to(app: typer.Typer) -> None:
    """Add one command per study; `GROUP NAME` goes into the group."""
    groups = {"": app, "checklist": checklist, "facts": facts, "flex": flex}
    for name, (*_, help) in _COMMANDS.items():
        group, _, last = name.rpartition(" ")
        show = _vocabulary if name == "rules" else None
        later(groups[group], last, help, _maker(name, last, help), _PANELS.get(name), show)


def _vocabulary() -> str:
    from truebench_hf.benchmarks.truebench.rules import vocabulary

    return vocabulary()


def _maker(name: str, last: str, help: str) -> Callable[[typer.Typer], None]:
    def make(app: typer.Typer) -> None:
        from truebench_hf.cli.texts import TEXTS

        options, study = load(name)
        command(app, last, options, shown(study), help, TEXTS.get(name))

    return make


def shown(study: Callable[[Any], Any]) -> Callable[[Any], None]:
    """What runs a study on its options, prints what comes of it, and exits with 3 where something is left unscored."""

    def run(options: Any) -> None:
        from truebench_hf.report.console import show

        work = study(options)
        work.tell = say
        outcome = work.run()
        show(outcome.sections, lead=outcome.lead, notes=outcome.notes)
        if options.estimate:
            return
        report = ["report.html"] if outcome.sections else []
        say(f"in {options.out}: {', '.join((*outcome.files, *report))}")
        if outcome.failed:
            complain(outcome.failed)
            raise typer.Exit(1)
        if outcome.incomplete and not getattr(options, "allow_unscored", False):
            raise typer.Exit(3)

    return run
