"""How well a judge's yes/no verdicts agree with reference labels, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.evaluate_modules.columns import Module, information
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.binary import yes_no
from truebench_hf.metrics.votes import decided

_DESCRIPTION = """\
Balanced accuracy, macro F1, accuracy, the rates of both classes and Cohen's kappa of a judge that decides single \
rubrics or criteria, as RubricEval reports them. An undecided verdict (None) is counted and left out of the shares; \
`balanced_accuracy_strict` counts it as wrong."""

_INPUTS = """
Args:
    predictions: the judge's labels: "yes" or "no", PASS or FAIL, True or False, 1 or 0, in any case. None, NaN and -1 \
are undecided. A list is the labels of several judges, of which the majority counts (a tie: undecided).
    references: the labels that hold, in the same words; None is unlabelled. One label alone holds for all predictions.
    positive, negative: other names for the two classes, e.g. "ineligible" and "eligible", or 0 and 1.
    details: True adds the labels of every row as they were read.
Columns may be of any library. Numbers of a `datasets.ClassLabel` column, `ds["label"]`, mean what the column names \
them; numbers from elsewhere are 1 for yes and 0 for no.
Returns:
    counts (n, undecided, unlabelled, tp, tn, fp, fn) and shares in 0..1, None where undefined; with details, a list.
"""

_SHARES = (
    "accuracy", "balanced_accuracy", "balanced_accuracy_strict", "macro_f1", "tpr", "tnr", "fpr", "fnr", "f1_yes", "f1_no",
)  # fmt: skip


class RubricAgreement(Module, evaluate.Metric):  # type: ignore[misc]
    """Agreement of two columns of labels."""

    def _info(self):  # type: ignore[no-untyped-def]
        return information(_DESCRIPTION, _INPUTS, ("predictions", "references"), ("rubriceval",))

    def _score(self, predictions, references, positive="yes", negative="no"):  # type: ignore[no-untyped-def]
        def read(label):  # type: ignore[no-untyped-def]
            return yes_no(label, positive, negative, hint="; name other classes by positive= and negative=")

        columns = predictions, references
        judged, gold = ([decided(row, read) for row in c] for c in columns)
        agreement = label_agreement(gold, judged, measures=(*_SHARES, "kappa"))
        counts = {name: agreement[name] for name in ("undecided", "unlabelled", "tp", "tn", "fp", "fn")}
        shares = {name: agreement[name].value for name in _SHARES}
        values = {
            "n": agreement["n"] + agreement["undecided"],
            **counts,
            **shares,
            "cohen_kappa": agreement["kappa"].value,
        }
        words = {"yes": positive, "no": negative, None: None}
        rows = (
            {"prediction": words[label], "reference": words[truth]} for label, truth in zip(judged, gold, strict=True)
        )
        return values, rows
