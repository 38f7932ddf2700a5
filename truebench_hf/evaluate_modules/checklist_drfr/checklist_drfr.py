"""Decomposed requirements following ratio of answered checklists, as an `evaluate` metric."""

from __future__ import annotations

from typing import Any

import evaluate

from truebench_hf.evaluate_modules.columns import Module, information
from truebench_hf.metrics.binary import yes_no
from truebench_hf.metrics.pass_rate import drfr

_DESCRIPTION = """\
DRFR: of all questions of all checklists, the share that is answered yes. Every question weighs the same, so long \
checklists weigh more than short ones. Unanswered questions (None) are counted and left out."""

_INPUTS = """
Args:
    predictions: one checklist per response, a list of labels: "yes" or "no", PASS or FAIL, True or False, 1 or 0, in \
any case. None, NaN and -1 are undecided. One label alone is a checklist of one question.
    details: True adds the same values for every checklist.
Columns may be of any library. Numbers of `datasets.ClassLabel`s mean what the column names them.
Returns:
    drfr (0..1, None without any answer), passed, n (answered questions) and undecided; with details, a list.
"""


class ChecklistDrfr(Module, evaluate.Metric):  # type: ignore[misc]
    """DRFR of a list of checklists."""

    def _info(self):  # type: ignore[no-untyped-def]
        return information(_DESCRIPTION, _INPUTS, ("predictions",), ("tick",))

    def _score(self, predictions):  # type: ignore[no-untyped-def]
        checklists = [[yes_no(label) for label in (row if isinstance(row, list) else [row])] for row in predictions]
        return _values(checklists), (_values([checklist]) for checklist in checklists)


def _values(checklists: list[list[str | None]]) -> dict[str, Any]:
    score, passed = drfr(checklists), sum(checklist.count("yes") for checklist in checklists)
    return {"drfr": score.value, "passed": passed, "n": score.n, "undecided": score.unscored}
