"""The TRUEBench score of responses (a judge is asked) or of ready verdicts, as an `evaluate` metric."""

from __future__ import annotations

import evaluate

from truebench_hf.benchmarks.truebench.evaluate_metric import flat, score_responses, score_verdicts
from truebench_hf.errors import UserError
from truebench_hf.metrics.columns import BothColumns, json_columns

_DESCRIPTION = """\
An instance passes when every criterion of every turn does; the score is the share of instances that pass. Give \
responses and a judge, or verdicts that are already there. What could not be judged leaves its instance unscored, \
unless another criterion fails; unscored instances are counted and left out."""

_INPUTS = """
Args:
    predictions: with `judge`, the responses: per instance a text, or a list of texts, one per turn. Without `judge`, \
the verdicts: per instance a list of "yes", "no" or None, or a list of such lists, one per turn.
    references: per instance a row in the columns of TRUEBench, or its criteria alone: a list of texts, or a list of \
such lists, one per turn.
    judge: a judge as in `truebench run --judge`, e.g. "openai:MODEL" or "smollm2".
    out: a run folder that keeps every call and the report; without it nothing is kept.
    further options: those of `truebench judge`, e.g. judge_level="rubric".
Returns:
    shares in percent (pass_rate, strict_pass_rate, official, soft_criterion, soft_turn, drfr, by_category, ...), the \
95 % interval of the pass rate, n, unscored, the reasons and notes.
"""


class TruebenchScore(BothColumns, evaluate.Metric):  # type: ignore[misc]
    """Pass rate and friends, judging included."""

    def _info(self):  # type: ignore[no-untyped-def]
        return json_columns(_DESCRIPTION, _INPUTS, "predictions", "references")

    def _compute(self, predictions, references, judge=None, out=None, **options):  # type: ignore[no-untyped-def]
        if judge is None:
            if out is not None or options:
                raise UserError(f"{', '.join([*options, *(['out'] if out is not None else [])])}: goes with judge=SPEC")
            return flat(score_verdicts(predictions, references))
        return flat(score_responses(predictions, references, judge, out, **options))
