"""Behind the `evaluate` module `truebench_score`: scores of responses or verdicts that somebody has already."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from truebench_hf.benchmarks.truebench.data import JudgeGivenOptions
from truebench_hf.benchmarks.truebench.run import JudgeAnswers
from truebench_hf.benchmarks.truebench.scores import score
from truebench_hf.data import instances
from truebench_hf.data.judged import Judged, as_answered
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError, in_python
from truebench_hf.metrics.binary import tri_valued
from truebench_hf.results.report import Report
from truebench_hf.types import Instance, Response, Verdict

_NOT_GIVEN = "(The instruction is not given; judge the response by the criteria alone.)"


@in_python
def score_responses(
    responses: Sequence[Any], references: Sequence[Any], judge_spec: str, out: str | None = None, **options: Any
) -> Report:
    """Judge responses and score them (TRUEBench section 3.1).

    `responses` holds per instance a text, a list of texts (one per turn), or None; `references` per instance a row of
    data, or only its criteria: a text, a list of texts, or a list of such lists, one per turn. `options` are those of
    `truebench judge` by name. `out` is the run folder; without it nothing is kept. Raises UserError, and TypeError on unknown options.
    """
    if not responses:
        return score([])
    pairs = [(i, _response(i, response)) for i, response in zip(_described(references), responses, strict=True)]
    with tempfile.TemporaryDirectory() as scratch:
        chosen = JudgeGivenOptions(**options, out=out or scratch, judge=(judge_spec,))
        return JudgeAnswers(chosen, pairs, {"model": "given responses", "data": "given"}).run().value


def score_verdicts(verdicts: Sequence[Any], references: Sequence[Any]) -> Report:
    """Score ready labels: per instance a list of labels, or a list of such lists, one per turn, or one label alone.

    A label is what `tri_valued` reads. `references` is as in `score_responses`. Raises UserError where the labels do not
    fit the criteria.
    """
    judged = [_ready(i, labels) for i, labels in zip(_described(references), verdicts, strict=True)] if verdicts else []
    return replace(score(judged), judged=judged)


def flat(report: Report) -> dict[str, Any]:
    """The scores as one dict of numbers, shares in 0..1: what an `evaluate` module returns."""
    names = {"overall": "pass_rate", "strict": "strict_pass_rate"}
    values: dict[str, Any] = {}
    for name, value in report.scores.items():
        if isinstance(value, Mapping):
            values |= {f"{name}/{key}": entry.value for key, entry in value.items()}
        else:
            values[names.get(name, name)] = value.value
    overall: Any = report.scores["overall"]
    low, high = overall.ci95 or (None, None)
    return values | {"pass_rate_low": low, "pass_rate_high": high, "n": overall.n, "unscored": overall.unscored}


def described(report: Report) -> Iterator[dict[str, Any]]:
    """Of each instance whether it passes (None: unscored, and why), and its verdicts with their reasons."""
    for item in report.judged:
        yield {
            "id": item.instance.id, "passed": item.passed,
            "reason": item.undecided if item.passed is None else "",
            "verdicts": [{name: row[name] for name in ("turn", "criterion", "label", "reason")} for row in item.rows()],
        }  # fmt: skip


def _described(references: Sequence[Any]) -> list[Instance]:
    """An instance for each reference: a row of data, or criteria alone, which are given a prompt for each turn.

    Several responses to one instance are rows of the same id here: each is put under an id of its own.
    """
    seen: Counter[str] = Counter()
    records = []
    for number, reference in enumerate(references):
        row = reference
        if not isinstance(reference, dict):
            criteria = [reference] if isinstance(reference, str) else reference
            if not isinstance(criteria, list):
                raise UserError(f"reference {number}: give a row of data, or its criteria, not {reference!r:.80}")
            turns = criteria if any(isinstance(entry, list) for entry in criteria) else [criteria]
            row = {"index": number, "input": [_NOT_GIVEN] * len(turns), "criteria": turns}
        name = "id" if row.get("id") is not None else "index"
        if row.get(name) is not None:
            seen[str(row[name])] += 1
            if (count := seen[str(row[name])]) > 1:
                row = row | {name: f"{row[name]} ({count})"}
        records.append(Record(f"reference {number}", row))
    return instances.of_rows(records)


def _response(instance: Instance, answers: Any) -> Response:
    texts = [answers] if isinstance(answers, str) else answers or []
    count = len(instance.turns)
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts) or len(texts) > count:
        raise UserError(f"response to instance {instance.id}: give a text, or up to {count} of them, one per turn")
    error = None if len(texts) == count else f"turn {len(texts) + 1}: no response was given"
    return Response(instance.id, "given responses", as_answered(instance, texts), ("",) * len(texts), error=error)


def _ready(instance: Instance, labels: Any) -> Judged:
    """An instance with ready labels as its verdicts."""
    wanted = [len(turn.criteria) for turn in instance.turns]
    if labels is None:
        labels = [[None] * count for count in wanted]
    row = labels if isinstance(labels, list) else [labels]
    turns = row if any(isinstance(label, list) for label in row) else [row]
    turns = [turn if isinstance(turn, list) else [turn] for turn in turns]
    if [len(turn) for turn in turns] != wanted:
        raise UserError(f"verdicts on instance {instance.id}: give one label per criterion, {wanted} in its turns")
    verdicts = []
    for turn, of in zip(instance.turns, turns, strict=True):
        known: list[Any] = [tri_valued(label, hint="; responses are judged with judge=SPEC") for label in of]
        pairs = zip(turn.criteria, known, strict=True)
        verdicts.append(
            tuple(Verdict(criterion, label, "" if label else "no label was given") for criterion, label in pairs)
        )
    return Judged(instance, Response(instance.id, "given verdicts", ()), tuple(verdicts))
