"""FlexEval's Coverage and Achievement from given verdicts, as an `evaluate` metric."""

from __future__ import annotations

import dataclasses

import evaluate

from truebench_hf.metrics.columns import BothColumns, json_columns
from truebench_hf.metrics.flexeval import flexeval

_DESCRIPTION = """\
Coverage: of the base actions of all conversations, the share that is attempted. Achievement: of the branches that \
are decided while their base action is attempted, the share that is right. Verdicts are yes, no or unknown (no \
evidence, or the branch does not apply); None was not judged, is counted and left out."""

_INPUTS = """
Args:
    predictions: per conversation a dict from dimension to "yes", "no", "unknown" or None.
    references: per conversation a dict from dimension to the base action of its precondition group, None for the \
base action itself.
Returns:
    coverage, achievement and correct (the share that is right of all that is decided) in 0..1, None where nothing counts, and the counts they are made of.
"""


class FlexEval(BothColumns, evaluate.Metric):  # type: ignore[misc]
    """Coverage and Achievement."""

    def _info(self):  # type: ignore[no-untyped-def]
        return json_columns(_DESCRIPTION, _INPUTS, "predictions", "references")

    def _compute(self, predictions, references):  # type: ignore[no-untyped-def]
        return dataclasses.asdict(flexeval(predictions, references))
