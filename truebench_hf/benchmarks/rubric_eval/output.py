"""What a meta-evaluation leaves in its folder: `judgments.jsonl`, `scores.json` and `report.html`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from truebench_hf.benchmarks.rubric_eval.scores import Cell, JudgeScores, Judgment, MetaEvaluation, Overall
from truebench_hf.metrics.votes import vote_share


def as_json(study: MetaEvaluation) -> dict[str, Any]:
    """The content of `scores.json`: percent, with n, undecided (`unscored`) and 95 % intervals."""
    return {
        "judges": [_entry(entry) for entry in study.scores],
        "spread": {paradigm: asdict(apart) for paradigm, apart in study.spreads.items()},
        "notes": list(study.notes),
        "provenance": dict(study.provenance),
    }


def _entry(scores: JudgeScores) -> dict[str, Any]:
    splits = {name: _agreement(overall) for name, overall in scores.splits.items()}
    groups = {"by_rubric_type": scores.by_type, "by_dimension": scores.by_dimension, "by_language": scores.by_language}
    return {
        "judge": scores.judge,
        "paradigm": scores.paradigm,
        "is_panel": scores.is_panel,
        **splits.pop("all"),
        **{name: {key: _cell(cell) for key, cell in cells.items()} for name, cells in groups.items()},
        "by_split": splits,
        "pass_rate": asdict(scores.pass_rate),
        "flip_rate": asdict(scores.flip_rate) if scores.flip_rate else None,
        "vote_share": asdict(scores.vote_share) if scores.vote_share else None,
        "undecided_reasons": dict(scores.reasons),
        "conflicting": scores.conflicting,
        "usage": asdict(scores.usage),
    }


def _agreement(overall: Overall) -> dict[str, Any]:
    return {
        "overall": _cell(overall.pooled),
        "category_mean": _cell(overall.mean),
        "missing_categories": list(overall.missing),
        "by_category": {name: _cell(cell) for name, cell in overall.by_category.items()},
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {measure: asdict(score) for measure, score in cell.items()}


def rows(judgments: Mapping[tuple[str, str], Sequence[Judgment]]) -> Iterator[dict[str, Any]]:
    """The lines of `judgments.jsonl`, from judgments by (judge, paradigm)."""
    for (judge, paradigm), found in judgments.items():
        for row in found:
            yield _plain(judge, paradigm, row)


def _plain(judge: str, paradigm: str, row: Judgment) -> dict[str, Any]:
    item, rubric, verdict = row.item, row.rubric, row.verdict
    return {
        "id": rubric.id,
        "response_id": item.id,
        "instruction_id": item.instruction_id,
        "instruction_category": item.category,
        "language": item.language,
        "split": rubric.split,
        "rubric": rubric.text,
        "rubric_type": rubric.kind,
        "dimension": rubric.dimension,
        "gold": rubric.label,
        "judge": judge,
        "paradigm": paradigm,
        "label": verdict.label,
        "reason": verdict.reason,
        "probability": verdict.probability,
        "votes": list(verdict.votes),
        "vote_share": vote_share(verdict.votes, verdict.label),
    }
