"""Decomposed requirements following ratio of answered checklists, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.evaluate_modules.columns import Module, label_rows
from truebench_hf.metrics.pass_rate import drfr


class ChecklistDrfr(Module, evaluate.Metric):  # type: ignore[misc]
    """DRFR of a list of checklists."""

    def _score(self, predictions):  # type: ignore[no-untyped-def]
        def values(checklists: list[list[str | None]]) -> dict[str, float | None]:
            score, passed = drfr(checklists), sum(checklist.count("yes") for checklist in checklists)
            return {"drfr": score.value, "passed": passed, "n": score.n, "undecided": score.unscored}

        checklists = label_rows(predictions)
        return values(checklists), (values([checklist]) for checklist in checklists)
