"""How far a judge's preferences are from people's, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.evaluate_modules.columns import Module, information
from truebench_hf.metrics.binary import preference
from truebench_hf.metrics.preference import label_distance, pairwise_agreement
from truebench_hf.metrics.votes import decided

_DESCRIPTION = """\
Pairwise label distance between two columns of preferences over pairs of responses: 0 for the same label, 1 between a \
tie and a win or loss, 2 for win against loss; and its mean, the weighted PLD (lower is better). Undecided pairs \
(None) are counted and left out."""

_INPUTS = """
Args:
    predictions: the judge's preferences: "win", "tie" or "loss" of the first response, or which is better: A, B, \
model_a, first, ..., in any case. None and NaN are undecided. A list is the preferences of several people, of which the \
majority counts (a tie between them: undecided).
    references: people's preferences in the same words. One alone holds for all predictions.
    details: True adds the labels of every pair and their distance.
Columns may be of any library. Numbers are read in a `datasets.ClassLabel` column, `ds["label"]`, by the names it has.
Returns:
    n, undecided, the shares pld_0 (same label), pld_1, pld_2 in 0..1 and wpld in 0..2; None without decided pairs.
    pld_0_low, pld_0_high, wpld_low, wpld_high: 95 % intervals; that of wpld is None with fewer than ten decided pairs.
    With details, a list.
"""


class PreferenceAgreement(Module, evaluate.Metric):  # type: ignore[misc]
    """PLD shares and weighted PLD."""

    def _info(self):  # type: ignore[no-untyped-def]
        return information(_DESCRIPTION, _INPUTS, ("predictions", "references"), ("tick",))

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
