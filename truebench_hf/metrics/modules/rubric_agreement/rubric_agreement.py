"""How well a judge's yes/no verdicts agree with reference labels, as an `evaluate` metric."""

from __future__ import annotations

import dataclasses

import evaluate

from truebench_hf.metrics.agreement import agreement
from truebench_hf.metrics.columns import BothColumns, json_columns
from truebench_hf.metrics.kappa import cohen_kappa

_DESCRIPTION = """\
Balanced accuracy, macro F1, accuracy, the rates of both classes and Cohen's kappa of a judge that decides single \
rubrics or criteria, as RubricEval reports them. An undecided verdict (None) is counted and left out of the shares; \
`balanced_accuracy_strict` counts it as wrong."""

_INPUTS = """
Args:
    predictions: the judge's labels, "yes", "no" or None (undecided).
    references: the labels that hold, "yes" or "no"; None is unlabelled.
    positive, negative: other words for the two classes, e.g. "ineligible" and "eligible".
Returns:
    a dict of counts (n, undecided, unlabelled, tp, tn, fp, fn) and shares in 0..1, None where undefined.
"""


class RubricAgreement(BothColumns, evaluate.Metric):  # type: ignore[misc]
    """Agreement of two columns of labels."""

    def _info(self):  # type: ignore[no-untyped-def]
        return json_columns(_DESCRIPTION, _INPUTS, "predictions", "references")

    def _compute(self, predictions, references, positive="yes", negative="no"):  # type: ignore[no-untyped-def]
        found = agreement(references, predictions, positive=positive, negative=negative)
        columns = ([label if label in (positive, negative) else None for label in c] for c in (references, predictions))
        return dataclasses.asdict(found) | {"cohen_kappa": cohen_kappa(*columns).value}
