"""The commands that are studies: their options are the flags, their sections what is printed.

A study is loaded when its command is called, or when its own `--help` is shown: all of them would take a second.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import typer

from truebench_hf.cli.commands import later
from truebench_hf.text.terminal import complain, say

# By name: the module below `truebench_hf.benchmarks` (or in full), its options, and its class.
_COMMANDS: dict[str, tuple[str, str, str]] = {
    "run": ("truebench.study", "RunOptions", "Run"),
    "study generate": ("truebench.study", "GenerateOptions", "Generate"),
    "judge": ("truebench.study", "JudgeGivenOptions", "JudgeAnswers"),
    "study validate": ("truebench.validation.study", "ValidateCriteriaOptions", "ValidateCriteria"),
    "study refine-criteria": ("truebench.refinement.study", "RefineCriteriaOptions", "RefineCriteria"),
    "data rules": ("truebench.rules", "RulesOptions", "Rules"),
    "metaeval": ("rubric_eval.metaeval.study", "MetaevalOptions", "Metaeval"),
    "study calibrate": ("rubric_eval.calibration.study", "CalibrateOptions", "Calibration"),
    "study arbitrate": ("rubric_eval.arbitration.study", "ArbitrateOptions", "Arbitration"),
    "study contrast": ("rubric_eval.contrast", "ContrastOptions", "Contrast"),
    "study taxonomy": ("rubric_eval.taxonomy.study", "TaxonomyOptions", "TaxonomyStudy"),
    "study compare-criteria": ("truebench.criteria_types.study", "CompareCriteriaOptions", "CompareCriteria"),
    "tick": ("tick.tick", "TickOptions", "Tick"),
    "study checklist generate": ("tick.tick", "GenerateChecklistOptions", "GenerateChecklists"),
    "study checklist score": ("tick.tick", "ScoreOptions", "Score"),
    "study checklist validate": ("tick.validation", "ValidateOptions", "Validate"),
    "study checklist categories": ("tick.categories", "CategoriesOptions", "Categories"),
    "study pairwise": ("tick.pairwise", "PairwiseOptions", "Pairwise"),
    "study refine": ("tick.refine", "RefineOptions", "Refine"),
    "study best-of": ("tick.best_of", "BestOfOptions", "BestOf"),
    "facts run": ("facts.study", "FactsOptions", "FactsRun"),
    "facts select-template": ("facts.selecting.study", "SelectOptions", "SelectTemplate"),
    "facts classify": ("facts.classify", "ClassifyOptions", "Classify"),
    "flex build": ("flexbench.build", "BuildOptions", "FlexBuild"),
    "flex simulate": ("flexbench.simulate", "SimulateOptions", "FlexSimulate"),
    "flex study profiles": ("flexbench.profiles", "ProfileOptions", "FlexProfiles"),
    "flex score": ("flexbench.score", "FlexScoreOptions", "FlexScore"),
    "flex study decompose": ("flexbench.decompose", "DecomposeOptions", "FlexDecompose"),
}


def load(name: str) -> tuple[type[Any], Callable[[Any], Any]]:
    """Return the options and the study of a command."""
    place, options, study = _COMMANDS[name]
    module = import_module(place if place.startswith("truebench_hf.") else f"truebench_hf.benchmarks.{place}")
    return getattr(module, options), getattr(module, study)


def add() -> None:
    """Add one command per study."""
    for name in _COMMANDS:
        later(name, partial(_load, name), _vocabulary if name == "data rules" else None)


def _vocabulary() -> str:
    from truebench_hf.benchmarks.truebench.rules import vocabulary

    return vocabulary()


def _load(name: str) -> tuple[type[Any], Callable[[Any], None]]:
    options, study = load(name)
    return options, shown(study)


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

    run.__doc__ = inspect.getdoc(study)
    return run
