"""Behind the `evaluate` module `truebench_score`: scores of responses or verdicts that somebody has already."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from truebench_hf import instances
from truebench_hf.benchmarks.truebench.options import JudgeGivenOptions, JudgeOptions
from truebench_hf.benchmarks.truebench.scores import score
from truebench_hf.benchmarks.truebench.study import JudgeAnswers
from truebench_hf.errors import UserError, unknown
from truebench_hf.metrics.binary import parallel
from truebench_hf.models.conversation import as_answered
from truebench_hf.options import from_values
from truebench_hf.records import Judged
from truebench_hf.rows import Record
from truebench_hf.types import Criterion, Instance, Report, Response, Verdict

_NOT_GIVEN = "(The instruction is not given; judge the response by the criteria alone.)"


def score_responses(
    responses: Sequence[Any], references: Sequence[Any], judge_spec: str, out: str | None = None, **options: Any
) -> Report:
    """Judge responses and score them (TRUEBench section 3.1).

    `responses` holds per instance a text, a list of texts (one per turn), or None; `references` per instance a row
    with the official columns, or only its criteria: a list of texts, or a list of such lists, one per turn. `options`
    are those of `truebench judge` by name. `out` is the run folder; without it nothing is kept. Raises UserError.
    """
    parallel(predictions=responses, references=references)
    described = _described(references)
    answered = [_response(i, given) for i, given in zip(described, responses, strict=True)]
    names = [field.name for field in fields(JudgeOptions) if field.name not in ("out", "judge")]
    for name in options:
        if name not in names:
            raise unknown("option of truebench_score", name, names)
    with tempfile.TemporaryDirectory() as scratch:
        chosen = from_values(JudgeGivenOptions, options | {"out": out or scratch, "judge": judge_spec})
        pairs = list(zip(described, answered, strict=True))
        return JudgeAnswers(chosen, pairs, {"model": "given responses", "data": "given"}).run().value


def score_verdicts(verdicts: Sequence[Any], references: Sequence[Any]) -> Report:
    """Score ready labels: per instance a list of "yes", "no" or None, or a list of such lists, one per turn.

    `references` is as in `score_responses`. Raises UserError where the labels do not fit the criteria.
    """
    parallel(predictions=verdicts, references=references)
    return score([_ready(i, given) for i, given in zip(_described(references), verdicts, strict=True)])


def flat(report: Report) -> dict[str, Any]:
    """The scores as one dict, shares in percent: what an `evaluate` module returns."""
    names = {"overall": "pass_rate", "strict": "strict_pass_rate"}
    values: dict[str, Any] = {}
    for name, value in report.scores.items():
        if isinstance(value, Mapping):
            values[name] = {key: entry.value for key, entry in value.items()}
        else:
            values[names.get(name, name)] = value.value
    overall: Any = report.scores["overall"]
    facts = {"ci95": overall.ci95, "n": overall.n, "unscored": overall.unscored, "reasons": dict(report.unscored)}
    return values | facts | {"notes": list(report.notes)}


def _described(references: Sequence[Any]) -> list[Instance]:
    return instances.of_rows(Record(f"reference {n}", _row(reference, n)) for n, reference in enumerate(references))


def _row(reference: Any, number: int) -> Any:
    """A row of data; criteria alone are given a prompt for each turn."""
    if isinstance(reference, dict):
        return reference
    if not isinstance(reference, list | tuple):
        raise UserError(f"reference {number}: give a row of data, or its criteria, not {reference!r:.80}")
    turns = [list(reference)] if all(isinstance(text, str) for text in reference) else [list(t) for t in reference]
    return {"index": number, "input": [_NOT_GIVEN] * len(turns), "criteria": turns}


def _response(instance: Instance, given: Any) -> Response:
    texts = [given] if isinstance(given, str) else list(given or [])
    if len(texts) > len(instance.turns) or not all(isinstance(text, str) for text in texts):
        count = len(instance.turns)
        raise UserError(f"response to instance {instance.id}: give a text, or up to {count} of them, one per turn")
    error = None if len(texts) == len(instance.turns) else f"turn {len(texts) + 1}: no response was given"
    return Response(instance.id, "given responses", as_answered(instance, texts), ("",) * len(texts), error=error)


def _ready(instance: Instance, given: Any) -> Judged:
    turns = [given] if given and all(label is None or isinstance(label, str) for label in given) else list(given or [])
    wanted = [len(turn.criteria) for turn in instance.turns]
    if [len(labels) for labels in turns] != wanted:
        raise UserError(f"verdicts on instance {instance.id}: give one label per criterion, {wanted} in its turns")
    pairs = zip(instance.turns, turns, strict=True)
    verdicts = tuple(
        tuple(_verdict(c, label) for c, label in zip(t.criteria, labels, strict=True)) for t, labels in pairs
    )
    return Judged(instance, Response(instance.id, "given verdicts", ()), verdicts)


def _verdict(criterion: Criterion, label: Any) -> Verdict:
    if label not in ("yes", "no", "unknown", None):
        raise UserError(f"label {label!r} is not yes, no, unknown or None")
    return Verdict(criterion, label, "" if label else "no label was given")
