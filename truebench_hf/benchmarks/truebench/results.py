"""What comes of a run: its report with what produced it, written into its folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from truebench_hf.benchmarks.truebench import official as tables
from truebench_hf.benchmarks.truebench.board import board, content
from truebench_hf.benchmarks.truebench.correction import corrected
from truebench_hf.benchmarks.truebench.data import CATEGORIES
from truebench_hf.benchmarks.truebench.judges import judging_specs
from truebench_hf.benchmarks.truebench.scores import score, unfinished
from truebench_hf.benchmarks.truebench.sections import facts, lead, sections
from truebench_hf.engine.folder import RunFolder
from truebench_hf.models.spec import family
from truebench_hf.records import Judged, compact, judgment_lines
from truebench_hf.study.outcome import Outcome
from truebench_hf.types import Report

FILES = ("judgments.jsonl", "scores.json", "scores_category.csv", "scores_language.csv")


def provenance(info: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of how it was made, from `run.json`; its settings may be no more than model and judge."""
    settings, specs = info["settings"], judging_specs(info["settings"])
    return {
        **settings,
        "versions": info.get("versions", {}),  # a submission has none
        "self_judged": family(settings["model"]) in set(map(family, specs)),
    }


def _title(model: str, judged: Sequence[Judged]) -> str:
    official = all(item.instance.category in CATEGORIES for item in judged)
    return f"TRUEBench: {model}" if official else f"Instructions followed: {model}"


def results(folder: RunFolder, judged: Sequence[Judged]) -> Outcome[Report]:
    """What comes of a run; with `labels.jsonl` in its folder the report is corrected by people's labels."""
    made, rows = provenance(folder.info), compact(judged)
    report = corrected(score(rows, folder.usage(), made), judged, folder.path)
    report = replace(report, verdicts=tuple(judged))
    official, model, judge = made.get("protocol") == "official", str(made["model"]), str(made["judge"])
    named = [(model, rows)]
    files: dict[str, Any] = {
        "judgments.jsonl": judgment_lines(judged, judge),
        "scores.json": report.to_dict(),
    }
    for name, table in (("category", tables.category_table), ("language", tables.language_table)):
        if f"by_{name}" in report.scores:
            files[f"scores_{name}.csv"] = tables.to_csv(table(named, official))
    known = {
        "self_judged": made["self_judged"],
        "secrets_masked": rows.secrets,
        "content": content(judged, judge),
    }
    return Outcome(
        report, files, _title(model, judged), sections(report, judged, rows), lead(report), report.notes, facts(report),
        board(report), known=known, incomplete=unfinished(rows),
    )  # fmt: skip
