"""What every command and `truebench_hf.run` refuse before a folder is opened: the table is `refusals.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import truebench_hf
from tests.support.arbitration import panel_specs, table_rows
from tests.support.corpus import options_of, table
from tests.support.runs import script, write_jsonl
from truebench_hf.benchmarks.facts.run import FactsOptions, FactsRun
from truebench_hf.benchmarks.facts.selection import SelectOptions, SelectTemplate
from truebench_hf.benchmarks.flexbench.score import FlexScore, FlexScoreOptions
from truebench_hf.benchmarks.flexbench.simulate import FlexSimulate, SimulateOptions
from truebench_hf.benchmarks.rubric_eval.arbitration import ArbitrateOptions, arbitrate
from truebench_hf.benchmarks.rubric_eval.calibration import CalibrateOptions, calibrate
from truebench_hf.benchmarks.rubric_eval.contrast import ContrastOptions, contrast
from truebench_hf.benchmarks.rubric_eval.data import mini_rows
from truebench_hf.benchmarks.rubric_eval.metaeval import MetaevalOptions, metaeval
from truebench_hf.benchmarks.rubric_eval.taxonomy import TaxonomyOptions, taxonomy
from truebench_hf.benchmarks.tick.best_of import BestOf, BestOfOptions
from truebench_hf.benchmarks.tick.categories import Categories, CategoriesOptions
from truebench_hf.benchmarks.tick.checklists import GenerateChecklistOptions, GenerateChecklists
from truebench_hf.benchmarks.tick.pairwise import Pairwise, PairwiseOptions
from truebench_hf.benchmarks.tick.refine import Refine, RefineOptions
from truebench_hf.benchmarks.tick.tick import ScoreChecklists, ScoreOptions, Tick, TickOptions
from truebench_hf.benchmarks.tick.validation import Validate, ValidateOptions
from truebench_hf.benchmarks.truebench.criteria_types import CompareCriteria, CompareCriteriaOptions
from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions, RunOptions
from truebench_hf.benchmarks.truebench.run import Run
from truebench_hf.benchmarks.truebench.validation import ValidateCriteria, ValidateCriteriaOptions
from truebench_hf.errors import UserError

STUDIES: dict[str, tuple[Any, Any]] = {
    "tick": (Tick, TickOptions),
    "checklist-score": (ScoreChecklists, ScoreOptions),
    "checklist-generate": (GenerateChecklists, GenerateChecklistOptions),
    "checklist-validate": (Validate, ValidateOptions),
    "checklist-categories": (Categories, CategoriesOptions),
    "best-of": (BestOf, BestOfOptions),
    "refine": (Refine, RefineOptions),
    "pairwise": (Pairwise, PairwiseOptions),
    "metaeval": (metaeval, MetaevalOptions),
    "arbitrate": (arbitrate, ArbitrateOptions),
    "calibrate": (calibrate, CalibrateOptions),
    "contrast": (contrast, ContrastOptions),
    "taxonomy": (taxonomy, TaxonomyOptions),
    "facts": (FactsRun, FactsOptions),
    "select-template": (SelectTemplate, SelectOptions),
    "run": (Run, RunOptions),
    "judge": (lambda options: options.settings, JudgeGivenOptions),
    "validate": (ValidateCriteria, ValidateCriteriaOptions),
    "compare-criteria": (CompareCriteria, CompareCriteriaOptions),
    "flex-score": (FlexScore, FlexScoreOptions),
    "flex-simulate": (FlexSimulate, SimulateOptions),
}
TABLE: dict[str, Any] = dict(table(__file__, "refusals"))
FILES: dict[str, Any] = TABLE.pop("files")
# By file of labelled rubrics: what differs in all of its rows from those of rubric_mini.
RUBRICS: dict[str, dict[str, Any]] = {
    "rubrics": {}, "unlabelled": {"label": None}, "all_met": {"label": "yes"}, "one_instruction": {"instruction_id": "same"},
}  # fmt: skip
CASES = [(name, study["plain"], case) for name, study in TABLE.items() for case in study["cases"]]


def write_inputs(rows: list[Any] | None) -> None:
    """The files that options of the table name; `rows` in place of the usual data."""
    panel_specs(Path())
    for name in ("judge", "bob"):
        script(Path(f"{name}.json"), [])
    for name, change in RUBRICS.items():
        write_jsonl(Path(f"{name}.jsonl"), [row | change for row in mini_rows()[:40]])
    write_jsonl(Path("bare.jsonl"), [row | {"response": None} for row in table_rows()])
    Path("flex").mkdir()
    for file, content in FILES.items():
        Path(file).write_text(content) if isinstance(content, str) else write_jsonl(Path(file), content)
    if rows is not None:
        write_jsonl(Path("data.jsonl"), rows or [" "])


def play(name: str, values: dict[str, Any]) -> None:
    if name not in STUDIES:
        truebench_hf.run(**values)
        return
    study, options = STUDIES[name]
    chosen = options(**options_of(values))
    study(chosen).run() if isinstance(study, type) else study(chosen)


@pytest.mark.parametrize(("name", "plain", "case"), CASES, ids=[f"{name}: {case['words']}" for name, _, case in CASES])
def test_it_is_refused_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, plain: dict[str, Any], case: dict[str, Any]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_inputs(case.get("rows"))
    values = {"out": "out"} | plain | case.get("more", {})
    if values["out"] is None:
        del values["out"]
    with pytest.raises(UserError, match=case["words"]):
        play(name, values)
    assert case.get("opened") or not Path("out").exists(), "the right command may use the folder"
