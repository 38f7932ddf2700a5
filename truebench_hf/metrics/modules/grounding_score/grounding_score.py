"""The FACTS Grounding score from given verdicts, as an `evaluate` metric."""

from __future__ import annotations

import dataclasses

import evaluate

from truebench_hf.metrics.columns import BothColumns, json_columns
from truebench_hf.metrics.grounding import grounding

_DESCRIPTION = """\
Share of responses that are fully grounded in their document, as the mean over the judges: before (`unadjusted`) and \
after (`final`) responses that all judges find ineligible are counted as inaccurate."""

_INPUTS = """
Args:
    predictions: per response a list with one label per judge, "yes" (grounded), "no" or None (undecided).
    references: per response a list with one label per judge, "yes" (eligible), "no" or None. An empty list: eligible.
Returns:
    unadjusted and final in 0..1, by_judge (unadjusted, final), n, ineligible, undecided.
"""


class GroundingScore(BothColumns, evaluate.Metric):  # type: ignore[misc]
    """Grounded share over several judges, with disqualification."""

    def _info(self):  # type: ignore[no-untyped-def]
        return json_columns(_DESCRIPTION, _INPUTS, "predictions", "references")

    def _compute(self, predictions, references):  # type: ignore[no-untyped-def]
        return dataclasses.asdict(grounding(predictions, references))
