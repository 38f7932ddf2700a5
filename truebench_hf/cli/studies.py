"""All commands: studies, whose options are the flags and whose sections are printed, and functions that print themselves."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import typer

from truebench_hf.cli.commands import command, parameter_helps
from truebench_hf.text.terminal import complain, how_many, say

# By name: the module below `truebench_hf.benchmarks` (or in full), its options, and its class.
_COMMANDS: dict[str, tuple[str, str, str]] = {
    "run": ("truebench.run", "RunOptions", "Run"),
    "study generate": ("truebench.run", "GenerateOptions", "Generate"),
    "judge": ("truebench.run", "JudgeGivenOptions", "JudgeAnswers"),
    "study validate": ("truebench.validation", "ValidateCriteriaOptions", "ValidateCriteria"),
    "study refine-criteria": ("truebench.refinement", "RefineCriteriaOptions", "RefineCriteria"),
    "data rules": ("truebench.rules", "RulesOptions", "Rules"),
    "metaeval": ("rubric_eval.metaeval", "MetaevalOptions", "Metaeval"),
    "study calibrate": ("rubric_eval.calibration", "CalibrateOptions", "CalibrationStudy"),
    "study arbitrate": ("rubric_eval.arbitration", "ArbitrateOptions", "Arbitration"),
    "study contrast": ("rubric_eval.contrast", "ContrastOptions", "Contrast"),
    "study taxonomy": ("rubric_eval.taxonomy", "TaxonomyOptions", "TaxonomyStudy"),
    "study compare-criteria": ("truebench.criteria_types", "CompareCriteriaOptions", "CompareCriteria"),
    "tick": ("tick.tick", "TickOptions", "Tick"),
    "study checklist generate": ("tick.checklists", "GenerateChecklistOptions", "GenerateChecklists"),
    "study checklist score": ("tick.tick", "ScoreOptions", "ScoreChecklists"),
    "study checklist validate": ("tick.validation", "ValidateOptions", "Validate"),
    "study checklist categories": ("tick.categories", "CategoriesOptions", "Categories"),
    "study pairwise": ("tick.pairwise", "PairwiseOptions", "Pairwise"),
    "study refine": ("tick.refine", "RefineOptions", "Refine"),
    "study best-of": ("tick.best_of", "BestOfOptions", "BestOf"),
    "facts run": ("facts.run", "FactsOptions", "FactsRun"),
    "facts select-template": ("facts.selection", "SelectOptions", "SelectTemplate"),
    "facts classify": ("facts.classify", "ClassifyOptions", "Classify"),
    "flex build": ("flexbench.build", "FlexBuildOptions", "FlexBuild"),
    "flex simulate": ("flexbench.simulate", "SimulateOptions", "FlexSimulate"),
    "flex study profiles": ("flexbench.users", "ProfileOptions", "FlexProfiles"),
    "flex score": ("flexbench.score", "FlexScoreOptions", "FlexScore"),
    "flex study decompose": ("flexbench.decomposition", "DecomposeOptions", "FlexDecompose"),
}
# By name: the module, the function, and its options class (of that module, or with its own) where its flags are not its
# parameters.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "demo": ("demo", "demo"),
    "compare": ("cli.results", "compare"),
    "check": ("cli.results", "check", "comparing.gate.CheckOptions"),
    "leaderboard": ("cli.results", "leaderboard"),
    "table": ("cli.results", "table"),
    "label out": ("cli.results", "label_out", "study.labelling.LabelOutOptions"),
    "label in": ("cli.results", "label_in", "study.labelling.LabelInOptions"),
    "label open": ("cli.results", "label_open", "study.labelling.LabelOpenOptions"),
    "facts rank": ("cli.results", "facts_rank"),
    "flex study table": ("cli.results", "flex_table"),
    "flex study stability": ("cli.results", "flex_stability"),
    "flex study agree": ("cli.results", "flex_agree"),
    "data list": ("cli.hub", "list_data"),
    "data build": ("cli.hub", "build", "BuildOptions"),
    "data push": ("cli.hub", "push_data", "PushOptions"),
    "publish results": ("cli.hub", "publish_results", "ResultsCommand"),
    "publish space": ("cli.hub", "publish_space", "PublishSpaceOptions"),
    "publish metric": ("cli.hub", "publish_metric", "MetricOptions"),
    "space": ("space.app", "serve", "SpaceOptions"),
    "cache info": ("cli.calls", "info"),
    "cache prune": ("cli.calls", "prune"),
    "cache clear": ("cli.calls", "clear"),
    "study correlate": ("cli.results", "correlate"),
    "study score": ("cli.results", "score"),
    "study prompts": ("cli.calls", "prompts", "ShowOptions"),
    "study export": ("cli.results", "export"),
}


def load(name: str) -> tuple[type[Any], Callable[[Any], Any]]:
    """Return the options and the study of a command."""
    place, options, study = _COMMANDS[name]
    module = import_module(place if place.startswith("truebench_hf.") else f"truebench_hf.benchmarks.{place}")
    return getattr(module, options), getattr(module, study)


def add() -> None:
    """Add every command."""
    for name in _COMMANDS:
        command(name, partial(_study, name))
    for name in _FUNCTIONS:
        command(name, partial(_function, name))


def _study(name: str) -> Callable[..., None]:
    from truebench_hf.cli.flags import from_options

    options, study = load(name)
    return from_options(options, shown(study))


def _function(name: str) -> Callable[..., None]:
    from truebench_hf.cli.flags import from_function, from_options

    place, function, *options = _FUNCTIONS[name]
    module = import_module(f"truebench_hf.{place}")
    action: Callable[..., None] = getattr(module, function)
    if not options:
        return from_function(action, parameter_helps(name))
    other, _, options_class = options[0].rpartition(".")
    declared_in = import_module(f"truebench_hf.{other}") if other else module
    return from_options(getattr(declared_in, options_class), action)


def shown(study: Callable[[Any], Any]) -> Callable[[Any], None]:
    """What runs a study on its options, prints what comes of it, and exits with 3 where something is left unscored."""

    def run(options: Any) -> None:
        from truebench_hf.report.console import show

        work = study(options)
        work.tell = say
        outcome = work.run()
        show(outcome.report, lead=outcome.lead, notes=outcome.notes)
        if options.estimate:
            return
        report = ["report.html"] if outcome.report else []
        files = dict.fromkeys(name.partition("/")[0] + "/" * ("/" in name) for name in outcome.follow)
        say(f"in {options.out}: {', '.join((*outcome.items, *files, *report))}")
        if outcome.failed:
            complain(outcome.failed)
            raise typer.Exit(1)
        allowed = getattr(options, "allow_unscored", None)  # None where there is no such option
        if outcome.incomplete and not allowed:
            remedy = "" if allowed is None else "; --allow-unscored makes it 0"
            complain(f"{how_many(outcome.incomplete, 'item')} could not be scored, so the exit code is 3{remedy}")
            raise typer.Exit(3)

    run.__doc__ = inspect.getdoc(study)
    return run
