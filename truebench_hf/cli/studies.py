"""The commands that are studies: their options are the flags, their sections what is printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from truebench_hf.benchmarks.facts.classify import Classify, ClassifyOptions
from truebench_hf.benchmarks.facts.options import FactsOptions
from truebench_hf.benchmarks.facts.selecting.options import SelectOptions
from truebench_hf.benchmarks.facts.selecting.study import SelectTemplate
from truebench_hf.benchmarks.facts.study import FactsRun
from truebench_hf.benchmarks.flexbench.decompose.study import DecomposeOptions, FlexDecompose
from truebench_hf.benchmarks.flexbench.derivation.study import BuildOptions, FlexBuild
from truebench_hf.benchmarks.flexbench.score import FlexScore, FlexScoreOptions
from truebench_hf.benchmarks.flexbench.simulation.grading import FlexProfiles, ProfileOptions
from truebench_hf.benchmarks.flexbench.simulation.study import FlexSimulate, SimulateOptions
from truebench_hf.benchmarks.rubric_eval.arbitration.study import ArbitrateOptions, Arbitration
from truebench_hf.benchmarks.rubric_eval.calibration.study import CalibrateOptions, Calibration
from truebench_hf.benchmarks.rubric_eval.contrast import Contrast, ContrastOptions
from truebench_hf.benchmarks.rubric_eval.metaeval.options import MetaevalOptions
from truebench_hf.benchmarks.rubric_eval.metaeval.study import Metaeval
from truebench_hf.benchmarks.rubric_eval.taxonomy.study import TaxonomyOptions, TaxonomyStudy
from truebench_hf.benchmarks.tick.best_of.study import BestOf, BestOfOptions
from truebench_hf.benchmarks.tick.categories.study import Categories, CategoriesOptions
from truebench_hf.benchmarks.tick.generate import GenerateChecklistOptions, GenerateChecklists
from truebench_hf.benchmarks.tick.given import Score, ScoreOptions
from truebench_hf.benchmarks.tick.pairwise.study import Pairwise, PairwiseOptions
from truebench_hf.benchmarks.tick.refine.study import Refine, RefineOptions
from truebench_hf.benchmarks.tick.study import Tick, TickOptions
from truebench_hf.benchmarks.tick.validation.study import Validate, ValidateOptions
from truebench_hf.benchmarks.truebench.criteria_types.options import CompareCriteriaOptions
from truebench_hf.benchmarks.truebench.criteria_types.study import CompareCriteria
from truebench_hf.benchmarks.truebench.options import GenerateOptions, JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.refinement.options import RefineCriteriaOptions
from truebench_hf.benchmarks.truebench.refinement.study import RefineCriteria
from truebench_hf.benchmarks.truebench.rules.study import Rules, RulesOptions
from truebench_hf.benchmarks.truebench.study import Generate, JudgeAnswers, Run
from truebench_hf.benchmarks.truebench.validation.study import ValidateCriteria, ValidateCriteriaOptions
from truebench_hf.cli import panels
from truebench_hf.cli.checklist import checklist
from truebench_hf.cli.facts import facts
from truebench_hf.cli.flex import flex
from truebench_hf.cli.options import command
from truebench_hf.cli.texts import TEXTS
from truebench_hf.report.console import show
from truebench_hf.terminal import complain, say

_COMMANDS: dict[str, tuple[type[Any], Callable[[Any], Any], str]] = {
    "run": (RunOptions, Run, "Score a model on TRUEBench: answer, judge every criterion, print scores."),
    "generate": (GenerateOptions, Generate, "First stage of a run: only the answers."),
    "judge": (JudgeGivenOptions, JudgeAnswers, "Second stage of a run: judge the answers in a run folder."),
    "validate": (
        ValidateCriteriaOptions, ValidateCriteria,
        "Have a model look for what is wrong with the criteria of a benchmark, or with its instructions.",
    ),
    "refine-criteria": (
        RefineCriteriaOptions, RefineCriteria,
        "Refine criteria until judge and people agree, and a validator finds no defect.",
    ),
    "rules": (RulesOptions, Rules, "Find which criteria a program can decide or measure, as rows that people check."),
    "metaeval": (MetaevalOptions, Metaeval, "Measure judges on labelled rubrics, under every paradigm."),
    "calibrate": (
        CalibrateOptions, Calibration,
        "Fit a decision judge's probabilities and threshold on labelled data, and price cascades behind it.",
    ),
    "arbitrate": (ArbitrateOptions, Arbitration, "Label rubrics by base judges and meta-judges (RubricEval)."),
    "contrast": (ContrastOptions, Contrast, "Contrast pairs: minimal edits that turn one rubric over."),
    "taxonomy": (TaxonomyOptions, TaxonomyStudy, "Sort rubrics into 13 types, and chart where they come from."),
    "compare-criteria": (
        CompareCriteriaOptions, CompareCriteria, "Hold four types of criteria against people on the same responses."
    ),
    "tick": (TickOptions, Tick, "Compare models on any prompts, by checklists made for them (TICK)."),
    "checklist generate": (GenerateChecklistOptions, GenerateChecklists, "Write a checklist for every instruction."),
    "checklist score": (ScoreOptions, Score, "Judge given responses by checklists, one question a call."),
    "checklist validate": (
        ValidateOptions, Validate, "Hold checklists against chosen ones, and who answers them against annotators (TICK)."
    ),
    "checklist categories": (CategoriesOptions, Categories, "Sort the questions of checklists, and pass rates by that."),
    "pairwise": (
        PairwiseOptions, Pairwise,
        "Hold judges against people's preferences between two responses, by four protocols (TICK).",
    ),
    "refine": (RefineOptions, Refine, "Let a model improve its answers by its own checklists (STICK)."),
    "best-of": (BestOfOptions, BestOf, "Draw N answers, and let the model select the best ones (STICK)."),
    "facts run": (
        FactsOptions, FactsRun, "Judge whether long answers are grounded in their prompt, and whether they answer at all.",
    ),
    "facts select-template": (
        SelectOptions, SelectTemplate,
        "Choose, on labelled answers, how each judge is asked about grounding and eligibility.",
    ),
    "facts classify": (ClassifyOptions, Classify, "Sort prompts by domain and task, so that scores can be told apart."),
    "flex build": (BuildOptions, FlexBuild, "Take an instruction apart into dimensions: its own benchmark."),
    "flex simulate": (SimulateOptions, FlexSimulate, "Have a model talk with simulated users by an instruction."),
    "flex profiles": (ProfileOptions, FlexProfiles, "Draw kinds of users from real conversations."),
    "flex score": (FlexScoreOptions, FlexScore, "Judge conversations by their dimensions: Coverage and Achievement."),
    "flex decompose": (DecomposeOptions, FlexDecompose, "Hold our dimensions against questions that people wrote."),
}  # fmt: skip

_PANELS = dict.fromkeys(("run", "generate", "judge", "validate", "refine-criteria", "rules"), panels.SCORE)
_PANELS |= dict.fromkeys(
    ("metaeval", "calibrate", "arbitrate", "contrast", "taxonomy", "pairwise", "compare-criteria"), panels.JUDGES
)
_PANELS |= dict.fromkeys(("tick", "refine", "best-of"), panels.ANY)


def add_to(app: typer.Typer) -> None:
    """Add one command per study; `GROUP NAME` goes into the group."""
    groups = {"": app, "checklist": checklist, "facts": facts, "flex": flex}
    for name, (options, study, help) in _COMMANDS.items():
        group, _, last = name.rpartition(" ")
        command(groups[group], last, options, _shown(study), help, TEXTS[name], _PANELS.get(name))


def _shown(study: Callable[[Any], Any]) -> Callable[[Any], None]:
    def run(options: Any) -> None:
        outcome = study(options).run()
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
