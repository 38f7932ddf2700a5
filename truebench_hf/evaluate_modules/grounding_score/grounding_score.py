"""The FACTS Grounding score from given verdicts, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.evaluate_modules.columns import Module, information
from truebench_hf.metrics.binary import yes_no
from truebench_hf.metrics.pass_rate import disqualified, grounding

_DESCRIPTION = """\
Share of responses that are fully grounded in their document, as the mean over the judges: before (`unadjusted`) and \
after (`final`) responses that all judges find ineligible are counted as inaccurate."""

_INPUTS = """
Args:
    predictions: per response a list with one label per judge, yes (grounded) or no: "yes" or "no", PASS or FAIL, True \
or False, 1 or 0, in any case. None, NaN and -1 are undecided. One label alone is that of one judge.
    references: per response a list with one label per judge on its eligibility, in the same words. An empty list: \
eligible. One label alone, given for the whole column, holds for all responses.
    details: True adds each judge's labels on every response, and whether it is disqualified.
Columns may be of any library. Numbers of `datasets.ClassLabel`s mean what the column names them.
Returns:
    unadjusted and final in 0..1; unadjusted_1, final_1, unadjusted_2, ... of each judge; n, ineligible, undecided; with \
details, a list.
"""


class GroundingScore(Module, evaluate.Metric):  # type: ignore[misc]
    """Grounded share over several judges, with disqualification."""

    def _info(self):  # type: ignore[no-untyped-def]
        return information(_DESCRIPTION, _INPUTS, ("predictions", "references"), ("facts_grounding",))

    def _score(self, predictions, references):  # type: ignore[no-untyped-def]
        grounded, eligible = (
            [[yes_no(label) for label in (row if isinstance(row, list) else [row])] for row in column]
            for column in (predictions, references)
        )
        score = grounding(grounded, eligible)
        values = {"unadjusted": score.unadjusted, "final": score.final}
        for number, (unadjusted, final) in enumerate(score.by_judge, 1):
            values |= {f"unadjusted_{number}": unadjusted, f"final_{number}": final}
        rows = (
            {"grounded": labels, "eligible": votes, "disqualified": disqualified(votes)}
            for labels, votes in zip(grounded, eligible, strict=True)
        )
        return values | {"n": score.n, "ineligible": score.ineligible, "undecided": score.undecided}, rows
