"""The TRUEBench score of responses (a judge is asked) or of ready verdicts, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.errors import UserError
from truebench_hf.evaluate_modules.columns import Module, information
from truebench_hf.evaluate_modules.truebench_scoring import described, flat, score_responses, score_verdicts

_DESCRIPTION = """\
An instance passes when every criterion of every turn does; the score is the share of instances that pass. Give \
responses and a judge, or verdicts that are already there. What could not be judged leaves its instance unscored, \
unless another criterion fails; unscored instances are counted and left out."""

_INPUTS = """
Args:
    predictions: with `judge`, the responses: per instance a text, or a list of texts, one per turn; texts are taken as \
they are, whatever they look like. Without `judge`, the verdicts: per instance a list of labels, or a list of such \
lists, one per turn, or one label; "yes" or "no", PASS or FAIL, True or False, 1 or 0, in any case. None, NaN and -1: \
not judged.
    references: per instance its criteria: a text, a list of texts, or a list of such lists, one per turn; or a row of \
data with its prompt and criteria, as `truebench run` takes it. One text or one row alone holds for all predictions.
    judge: a judge as in `truebench run --judge`, e.g. "openai:MODEL" or "smollm2".
    out: a run folder that keeps every call and the report; without it nothing is kept.
    details: True adds the verdicts with their reasons per criterion, and the notes.
    further options: those of `truebench judge`, e.g. judge_level="rubric".
Columns may be of any library; references also a table or a `datasets.Dataset`.
Returns:
    shares in 0..1, None without any: pass_rate with its 95 % interval (pass_rate_low, pass_rate_high), \
strict_pass_rate, official, soft_criterion, soft_turn, drfr, and by groups, e.g. by_language/DE; n and unscored; with \
details, a list with an entry for each instance, and notes.
"""


class TruebenchScore(Module, evaluate.Metric):  # type: ignore[misc]
    """Pass rate and friends, judging included."""

    def _info(self):  # type: ignore[no-untyped-def]
        return information(_DESCRIPTION, _INPUTS, ("predictions", "references"), ("truebench",))

    def _score(self, predictions, references, judge=None, out=None, details=False, **options):  # type: ignore[no-untyped-def]
        if judge is None:
            if out is not None or options:
                raise UserError(f"{', '.join([*options, *(['out'] if out is not None else [])])}: goes with judge=SPEC")
            report = score_verdicts(predictions, references)
        else:
            report = score_responses(predictions, references, judge, out, **options)
        return flat(report) | ({"notes": report.notes} if details else {}), described(report)
