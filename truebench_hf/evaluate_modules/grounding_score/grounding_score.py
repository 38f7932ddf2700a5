"""The FACTS Grounding score from given verdicts, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.evaluate_modules.columns import Module, label_rows
from truebench_hf.metrics.pass_rate import disqualified, grounding


class GroundingScore(Module, evaluate.Metric):  # type: ignore[misc]
    """Grounded share over several judges, with disqualification."""

    def _score(self, predictions, references):  # type: ignore[no-untyped-def]
        grounded, eligible = label_rows(predictions), label_rows(references)
        score = grounding(grounded, eligible)
        values = {"unadjusted": score.unadjusted, "final": score.final}
        for number, (unadjusted, final) in enumerate(score.by_judge, 1):
            values |= {f"unadjusted_{number}": unadjusted, f"final_{number}": final}
        rows = (
            {"grounded": labels, "eligible": votes, "disqualified": disqualified(votes)}
            for labels, votes in zip(grounded, eligible, strict=True)
        )
        return values | {"n": score.n, "ineligible": score.ineligible, "undecided": score.undecided}, rows
