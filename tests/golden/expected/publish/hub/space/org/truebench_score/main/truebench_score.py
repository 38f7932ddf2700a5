"""The TRUEBench score of responses (a judge is asked) or of ready verdicts, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.errors import UserError
from truebench_hf.evaluate_modules.columns import Module
from truebench_hf.evaluate_modules.truebench_scoring import described, flat, score_responses, score_verdicts


class TruebenchScore(Module, evaluate.Metric):  # type: ignore[misc]
    """Pass rate and friends, judging included."""

    def _score(self, predictions, references, judge=None, out=None, details=False, **options):  # type: ignore[no-untyped-def]
        if judge is None:
            if out is not None or options:
                raise UserError(f"{', '.join([*options, *(['out'] if out is not None else [])])}: goes with judge=SPEC")
            report = score_verdicts(predictions, references)
        else:
            report = score_responses(predictions, references, judge, out, **options)
        return flat(report) | ({"notes": report.notes} if details else {}), described(report)
