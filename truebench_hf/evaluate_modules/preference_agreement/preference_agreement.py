"""How far a judge's preferences are from people's, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.evaluate_modules.columns import Module
from truebench_hf.metrics.binary import preference
from truebench_hf.metrics.preference import label_distance, pairwise_agreement
from truebench_hf.metrics.votes import decided


class PreferenceAgreement(Module, evaluate.Metric):  # type: ignore[misc]
    """PLD shares and weighted PLD."""

    def _score(self, predictions, references):  # type: ignore[no-untyped-def]
        judged, gold = ([decided(row, preference) for row in column] for column in (predictions, references))
        agreement = pairwise_agreement(gold, judged)
        (low, high), (least, most) = (agreement[name].ci95 or (None, None) for name in ("pld_0", "wpld"))
        counts = {"n": agreement["wpld"].n, "undecided": agreement["wpld"].unscored}
        values = {**counts, **{name: score.value for name, score in agreement.items()}}
        rows = (
            {
                "prediction": prediction,
                "reference": truth,
                "distance": label_distance(truth, prediction) if truth and prediction else None,
            }
            for prediction, truth in zip(judged, gold, strict=True)
        )
        return values | {"pld_0_low": low, "pld_0_high": high, "wpld_low": least, "wpld_high": most}, rows
