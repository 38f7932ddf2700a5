"""What comes of a run: its report with what produced it, written into its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from truebench_hf.benchmarks.truebench import official as tables
from truebench_hf.benchmarks.truebench.board import board, boards, content
from truebench_hf.benchmarks.truebench.correction import corrected
from truebench_hf.benchmarks.truebench.data import CATEGORIES
from truebench_hf.benchmarks.truebench.labels import label_place
from truebench_hf.benchmarks.truebench.models import joined, judging_specs, models_of, one_model
from truebench_hf.benchmarks.truebench.scores import as_frames, score, unfinished
from truebench_hf.benchmarks.truebench.sections import facts, lead, model_sections, sections
from truebench_hf.data.judged import Judged
from truebench_hf.data.records import judgment_lines
from truebench_hf.engine.folder import RunFolder
from truebench_hf.models.spec import family
from truebench_hf.report.sections import Section
from truebench_hf.results.report import Report
from truebench_hf.study.outcome import Outcome

FILES = ("judgments.jsonl", "scores.json", "scores_category.csv", "scores_language.csv")


def provenance(info: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of how it was made, from `run.json`; its settings may be no more than model and judge.

    Whether a judge belongs to the family of a model is told by model where there are several.
    """
    settings, families = info["settings"], set(map(family, judging_specs(info["settings"])))
    own = {name: family(name) in families for name in models_of(settings)}
    return {
        **settings,
        "versions": info.get("versions", {}),  # a submission has none
        "self_judged": own if len(own) > 1 else next(iter(own.values())),
    }


def results(folder: RunFolder, judged: Sequence[Judged]) -> Outcome[Report]:
    """What comes of a run; the report of a model whose labels are in its folder is corrected by them."""
    info, models = folder.info, models_of(folder.info["settings"])
    made, judge = provenance(info), str(info["settings"]["judge"])
    by_model = {name: [item for item in judged if item.response.model == name] for name in models}
    frames = {name: as_frames(items) for name, items in by_model.items()}
    reports: dict[str, Report] = {}
    for name, items in by_model.items():
        report = score(frames[name], folder.usage(), provenance(one_model(info, name)))
        reports[name] = corrected(report, items, label_place(folder.path, name, models))
    report = replace(joined(reports, made), judged=tuple(judged))
    official = made.get("protocol") == "official"
    files: dict[str, Any] = {
        "judgments.jsonl": judgment_lines(judged, judge),
        "scores.json": report.to_dict(),
    }
    for name, table in (("category", tables.category_table), ("language", tables.language_table)):
        if any(f"by_{name}" in report.scores for report in reports.values()):
            files[f"scores_{name}.csv"] = tables.to_csv(table(list(frames.items()), official))
    contents = [content(items, judge) for items in by_model.values()]
    known = {
        "self_judged": made["self_judged"],
        "content": contents[0] if len(models) == 1 else contents,
    }
    return Outcome(
        report, files, _title(models, judged), shown(report, judged, str(folder.path)), lead(report), report.notes,
        facts(report), boards({name: board(report) for name, report in reports.items()}), known=known,
        incomplete=sum(map(unfinished, frames.values())),
    )  # fmt: skip


def shown(report: Report, judged: Sequence[Judged] = (), folder: str = "") -> list[Section]:
    """The sections of a report, be it of one model or of several."""
    several = len(models_of(report.provenance)) > 1
    return model_sections(report, judged, folder) if several else sections(report, judged, folder=folder)


def _title(models: Sequence[str], judged: Sequence[Judged]) -> str:
    official = all(item.instance.category in CATEGORIES for item in judged)
    named = models[0] if len(models) == 1 else f"{len(models)} models"
    return f"TRUEBench: {named}" if official else f"Instructions followed: {named}"
