"""FlexEval's Coverage and Achievement from given verdicts, as an `evaluate` metric."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import evaluate

from truebench_hf.errors import UserError
from truebench_hf.evaluate_modules.columns import Module
from truebench_hf.metrics.binary import tri_valued
from truebench_hf.metrics.pass_rate import flexeval


class FlexEval(Module, evaluate.Metric):  # type: ignore[misc]
    """Coverage and Achievement."""

    def _score(self, predictions, references):  # type: ignore[no-untyped-def]
        traces = [_trace(number, row) for number, row in enumerate(predictions)]
        for number, row in enumerate(references):
            if not isinstance(row, dict):
                raise UserError(
                    f"conversation {number}: give a dict from dimension to its base action, not {row!r:.80}"
                )
        # Names of dimensions may be numbers.
        structures = [{name: None if base is None else str(base) for name, base in row.items()} for row in references]
        rows = (asdict(flexeval([trace], [of])) for trace, of in zip(traces, structures, strict=True))
        return asdict(flexeval(traces, structures)), rows


def _trace(number: int, row: Any) -> dict[str, str | None]:
    """The labels of a conversation by dimension, from a dict of them or from the `verdicts` of our data set."""
    if isinstance(row, list) and all(isinstance(e, dict) and {"dimension_id", "label"} <= e.keys() for e in row):
        labels = {str(entry["dimension_id"]): entry["label"] for entry in row}
        if len(labels) < len(row):
            raise UserError(f"conversation {number}: a dimension has two verdicts")
        row = labels
    if not isinstance(row, dict):
        raise UserError(f"conversation {number}: give a dict from dimension to verdict, not {row!r:.80}")
    return {name: tri_valued(label) for name, label in row.items()}
