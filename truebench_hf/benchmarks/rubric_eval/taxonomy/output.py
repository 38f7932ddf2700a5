"""What a sorting of rubrics leaves in its folder: `taxonomy.jsonl`, `scores.json` and `report.html`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from truebench_hf.benchmarks.rubric_eval.taxonomy.scores import Sorted, Taxonomy, dimension


def as_json(study: Taxonomy) -> dict[str, Any]:
    """The content of `scores.json`."""
    return {
        "type_accuracy": asdict(study.type_accuracy),
        "dimension_accuracy": asdict(study.dimension_accuracy),
        "kappa": study.kappa,
        "kinds": {name: asdict(counts) for name, counts in study.kinds.items()},
        "sources": [asdict(counts) for counts in study.sources],
        "provenance": dict(study.provenance),
    }


def row(item: Sorted) -> dict[str, Any]:
    entry = item.entry
    return {
        "instruction_id": entry.instruction_id,
        "source": entry.source,
        "instruction_category": entry.category,
        "language": entry.language,
        "rubric": entry.rubric,
        "source_label": entry.hint,
        "known_type": entry.kind,
        "rubric_type": item.kind,
        "dimension": dimension(item.kind) if item.kind else None,
        "reason": item.reason,
    }
