"""What a calibration leaves in its folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from truebench_hf.judging.calibrated import as_json

if TYPE_CHECKING:
    from truebench_hf.benchmarks.rubric_eval.calibration.measures import Fit, Row
    from truebench_hf.benchmarks.rubric_eval.calibration.study import CalibrateOptions


def content(options: CalibrateOptions, study: Fit, rows: Sequence[Row]) -> dict[str, Any]:
    """The content of `calibration.json`: what other runs read, and every figure."""
    return as_json(study.calibrated, options.prompts) | {
        "kind": options.kind,
        "rows": len(rows),
        "instructions": len({row.instruction_id for row in rows}),
        "before": asdict(study.before),
        "after": asdict(study.after),
        "balanced_accuracy": {name: asdict(score) for name, score in study.agreement.items()},
        "cascade": [asdict(point) for point in study.points],
        "choice": asdict(study.choice) if study.choice else None,
        "choice_balanced_accuracy": asdict(study.worth) if study.worth else None,
        "provenance": dict(study.provenance),
        "notes": list(study.notes),
    }
