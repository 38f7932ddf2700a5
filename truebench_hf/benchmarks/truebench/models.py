"""A run of several models: how `run.json` names them, and their reports as one, from which each comes back.

In the report of several models every score is a group by model; what one model's report has by group (a category, say) is
named `by_category:Editing` there. A run of one model is as it always was: its report is its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from truebench_hf.errors import unknown
from truebench_hf.hashing import canonical, digest
from truebench_hf.results.folder import Results
from truebench_hf.results.report import Report
from truebench_hf.study.providers import identities
from truebench_hf.text import anonymous
from truebench_hf.types import Score


def noted(models: Sequence[str]) -> str | list[str]:
    """The models as `run.json` notes them under `model`: a lone one by its name."""
    return models[0] if len(models) == 1 else list(models)


def models_of(settings: Mapping[str, Any]) -> list[str]:
    """The names of a run's models, in order, from its settings. Raises KeyError where they tell of none."""
    named = settings["model"]
    return list(map(str, named)) if isinstance(named, list | tuple) else [str(named)]


def one_model(info: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The `run.json` of a run as if this had been its only model. Raises UserError where it is none of its models."""
    settings = info["settings"]
    if model not in (models := models_of(settings)):
        raise unknown("model", model, models)
    alone = {**settings, "model": model}
    key, _ = identities({"models": settings.get("models")}).get(model, ("", {}))
    if key:
        alone["models"] = {key: settings["models"][key]}
    self_judged = info.get("self_judged")
    return {**info, "settings": alone} | (
        {"self_judged": self_judged[model]} if isinstance(self_judged, Mapping) else {}
    )


def joined(reports: Mapping[str, Report], provenance: Mapping[str, Any]) -> Report:
    """The reports of models as one; that of a lone model as it is."""
    if len(reports) == 1:
        return next(iter(reports.values()))
    scores: dict[str, dict[str, Score]] = {}
    for model, report in reports.items():
        for name, score in report.scores.items():
            cells = {name: score} if isinstance(score, Score) else {f"{name}:{group}": s for group, s in score.items()}
            for place, cell in cells.items():
                scores.setdefault(place, {})[model] = cell
    open_ = {f"{name} ({model})": why for model, report in reports.items() for name, why in report.unscored.items()}
    corrected = {model: report.bias_corrected for model, report in reports.items() if report.bias_corrected}
    usage = next(iter(reports.values())).usage
    return Report(scores, open_, usage, provenance, _notes(reports), corrected)


def scores_of(scores: Mapping[str, Any], model: str) -> dict[str, Any]:
    """The scores of one model by the names that a lone model has them by, from those of several (see `joined`)."""
    own: dict[str, Any] = {}
    for place, cells in scores.items():
        if not isinstance(cells, Mapping) or model not in cells:
            continue
        name, _, group = place.partition(":")
        if group:
            own.setdefault(name, {})[group] = cells[model]
        else:
            own[name] = cells[model]
    return own


def scores_in(folder: Path, line: str) -> dict[str, Score]:
    """The scores over all instances that a folder holds of the model that its board calls so; {} where there are none."""
    table = Results.open(folder).tables.get("scores")
    rows = table.rows if table else ()
    public = anonymous.names(dict.fromkeys(row["model"] for row in rows))
    return {row["name"]: row["score"] for row in rows if public[row["model"]] == line and not row["group"]}


def _notes(reports: Mapping[str, Report]) -> tuple[str, ...]:
    """The notes of all models: once what is said of each, and under its name what is said of some."""
    notes = dict.fromkeys(note for report in reports.values() for note in report.notes)
    shared = [note for note in notes if all(note in report.notes for report in reports.values())]
    own = [f"{model}: {note}" for model, report in reports.items() for note in report.notes if note not in shared]
    return (*shared, *own)


JUDGING = ("judge", "cascade_judge", "panel", "judging", "prompts", "judge_models")  # all that shapes verdicts


def judging_specs(settings: Mapping[str, Any]) -> set[str]:
    """The specs of all who had a say in a run, from its settings, or from no more than the `judge` of its rows."""
    if isinstance(panel := settings.get("panel"), Mapping) and panel.get("judges"):
        return set(map(str, panel["judges"]))
    named = [str(settings[name]) for name in ("judge", "cascade_judge") if settings.get(name)]
    # A panel's name is `a + b (majority)`.
    panels = (re.sub(r" \([^()]*\)$", "", name).split(" + ") if " + " in name else [name] for name in named)
    return {spec for specs in panels for spec in specs}


def judging_id(settings: Mapping[str, Any]) -> str:
    """A short hash of all that shapes verdicts: two runs that share it were judged by one judge in one way."""
    shaping = {name: settings.get(name) for name in JUDGING}
    return digest(canonical(shaping))[:12]
