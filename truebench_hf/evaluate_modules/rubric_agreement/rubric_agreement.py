"""How well a judge's yes/no verdicts agree with reference labels, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.evaluate_modules.columns import Module
from truebench_hf.metrics.agreement import label_agreement
from truebench_hf.metrics.binary import yes_no
from truebench_hf.metrics.votes import decided

_SHARES = (
    "accuracy", "balanced_accuracy", "balanced_accuracy_strict", "macro_f1", "tpr", "tnr", "fpr", "fnr", "f1_yes", "f1_no",
)  # fmt: skip


class RubricAgreement(Module, evaluate.Metric):  # type: ignore[misc]
    """Agreement of two columns of labels."""

    def _score(self, predictions, references, positive="yes", negative="no"):  # type: ignore[no-untyped-def]
        def read(label):  # type: ignore[no-untyped-def]
            return yes_no(label, positive, negative, hint="; name other classes by positive= and negative=")

        judged, gold = ([decided(row, read) for row in column] for column in (predictions, references))
        agreement = label_agreement(gold, judged, measures=(*_SHARES, "kappa"))
        values = {"n": agreement["n"] + agreement["undecided"]}
        values |= {name: agreement[name] for name in ("undecided", "unlabelled", "tp", "tn", "fp", "fn")}
        values |= {name: agreement[name].value for name in _SHARES} | {"cohen_kappa": agreement["kappa"].value}
        words = {"yes": positive, "no": negative, None: None}
        rows = (
            {"prediction": words[label], "reference": words[truth]} for label, truth in zip(judged, gold, strict=True)
        )
        return values, rows
