"""How far a judge's preferences are from people's, as an `evaluate` metric."""

from __future__ import annotations

import dataclasses

import evaluate

from truebench_hf.metrics.columns import BothColumns, json_columns
from truebench_hf.metrics.preference import pairwise_agreement

_DESCRIPTION = """\
Pairwise label distance between two columns of preferences over pairs of responses: 0 for the same label, 1 between a \
tie and a win or loss, 2 for win against loss; and its mean, the weighted PLD (lower is better). Undecided pairs \
(None) are counted and left out."""

_INPUTS = """
Args:
    predictions: the judge's preferences, "win", "tie" or "loss" of the first response, or None.
    references: people's preferences in the same words.
Returns:
    n, undecided, the shares pld_0 (same label), pld_1, pld_2 in 0..1 and wpld in 0..2; None without decided pairs.
    interval and wpld_interval (95 %) of pld_0 and wpld, the latter None with fewer than ten decided pairs.
"""


class PreferenceAgreement(BothColumns, evaluate.Metric):  # type: ignore[misc]
    """PLD shares and weighted PLD."""

    def _info(self):  # type: ignore[no-untyped-def]
        return json_columns(_DESCRIPTION, _INPUTS, "predictions", "references")

    def _compute(self, predictions, references):  # type: ignore[no-untyped-def]
        return dataclasses.asdict(pairwise_agreement(references, predictions))
