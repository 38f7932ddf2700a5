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
        (low, high), (least, most) = agreement.interval or (None, None), agreement.wpld_interval or (None, None)
        values = {name: getattr(agreement, name) for name in ("n", "undecided", "pld_0", "pld_1", "pld_2", "wpld")}
        rows = (
            {
                "prediction": prediction,
                "reference": truth,
                "distance": label_distance(truth, prediction) if truth and prediction else None,
            }
            for prediction, truth in zip(judged, gold, strict=True)
        )
        return values | {"pld_0_low": low, "pld_0_high": high, "wpld_low": least, "wpld_high": most}, rows
