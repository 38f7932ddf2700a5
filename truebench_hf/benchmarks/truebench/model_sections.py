"""What the report of a run of several models shows: one table of them, their groups side by side, every conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from truebench_hf.benchmarks.truebench import human_labels
from truebench_hf.benchmarks.truebench.models import models_of, scores_of
from truebench_hf.benchmarks.truebench.requirements import requirements
from truebench_hf.benchmarks.truebench.scores import REPEATED
from truebench_hf.benchmarks.truebench.sections import HEADLINES, conversations, is_official, meaningless, unscored
from truebench_hf.data.judged import Judged
from truebench_hf.report.repeated import repeated
from truebench_hf.report.sections import Dots, Grid, Matrix, Section, dot, interval, value
from truebench_hf.types import Report, Score

_BESIDE = ("strict", "official", "single_turn", "multi_turn", "soft_criterion", "drfr", "weighted")
_TURNS = {"single_turn", "multi_turn"}
_GROUPS = ("by_category", "by_language", "by_task")
_ByModel = Mapping[str, Score]


def model_sections(report: Report, judged: Sequence[Judged] = ()) -> list[Section]:
    """Everything such a report shows, in order; without `judged` what the terminal shows is there all the same."""
    models = models_of(report.provenance)
    scores = cast("Mapping[str, _ByModel]", report.scores)
    samples = {model: scores_of(scores, model).get(REPEATED) for model in models}
    several = any(samples.values())
    shown: list[Section] = [_models(report, scores), _dots(scores["overall"])]
    if judged:
        shown.append(requirements(judged))
    shown += [repeated(found, f"Repeated samples: {model}") for model, found in samples.items() if found]
    shown += [matrix for name in _GROUPS if (matrix := _groups(name, scores, models)).rows]
    for model, found in report.bias_corrected.items():
        section = human_labels.section(found)
        shown.append(replace(section, title=f"{section.title}: {model}"))
    if report.unscored:
        shown.append(unscored(report, several))
    return [*shown, conversations(report, judged, several=several, named=True)] if judged else shown


def _models(report: Report, scores: Mapping[str, _ByModel]) -> Grid:
    """One row a model: the pass rate with its interval, and what stands beside it."""
    there = {name for name in _BESIDE if any(score.n + score.unscored for score in scores.get(name, {}).values())}
    there -= meaningless(report)
    if not there >= _TURNS:  # data of one sort
        there -= _TURNS
    beside = [name for name in _BESIDE if name in there]
    header = ("Model", HEADLINES["overall"], "95 % interval", *map(HEADLINES.__getitem__, beside), "n", "unscored")
    rows: list[tuple[str | int, ...]] = []
    for model, overall in scores["overall"].items():
        cells = [value(scores[name][model]) if model in scores[name] else "-" for name in beside]
        rows.append((model, value(overall), interval(overall), *cells, overall.n, overall.unscored))
    open_ = (
        "Undecided instances count by the labels given, as the official rule has it."
        if is_official(report)
        else "Unscored instances are left out of the pass rate and counted beside it."
    )
    return Grid("Models", header, tuple(rows), note=f"In %; intervals by Wilson. {open_}")


def _dots(overall: _ByModel) -> Dots:
    scored = ((model, score) for model, score in overall.items() if score.value is not None)
    return Dots("Pass rates", tuple((model, (dot("Pass rate", s.value or 0.0, s.ci95),)) for model, s in scored))


def _groups(by: str, scores: Mapping[str, _ByModel], models: Sequence[str]) -> Matrix:
    """The pass rate of every group and model; without rows where the data tells no groups."""
    found = {name.partition(":")[2]: cells for name, cells in scores.items() if name.startswith(f"{by}:")}
    rows = tuple((group, tuple(cells.get(model) for model in models)) for group, cells in found.items())
    return Matrix(by.removeprefix("by_").capitalize(), "Pass rate in %", tuple(models), rows)
