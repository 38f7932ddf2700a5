"""The scorer: our judge on every criterion of every turn, and the scores of `truebench run` as metrics.

A sample's score has a value per score of ours (see `values`): NaN is unscored there, left out and counted by inspect.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import nan
from typing import Any

from inspect_ai._util.error import PrerequisiteError
from inspect_ai.scorer import Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import TaskState

from truebench_hf.benchmarks.truebench.study import benchmark
from truebench_hf.data.case import cases
from truebench_hf.data.judged import Judged, unanswered
from truebench_hf.errors import UserError
from truebench_hf.exports.inspect_log import explained
from truebench_hf.inspect_task.judges import described
from truebench_hf.inspect_task.samples import instance_of, response_of
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.metrics.repeated import mean, over_values
from truebench_hf.types import Score

Samples = list[SampleScore]
Over = Callable[[list[Samples]], Score]  # from the samples of every instance to a score of ours


def values(judged: Judged) -> dict[str, float]:
    """What one conversation is worth under each score: 0 to 1, NaN where it is unscored.

    `overall` passes or fails, `strict` counts unscored as failed, `official` goes by the official rule; `soft_criterion`
    and `soft_turn` are shares, `drfr` the share of the decided criteria, `weighted` that of the points, where criteria
    have some.
    """
    flat = [label for turn in judged.outcomes for label in turn]
    decided = [label for label in flat if label in ("yes", "no")]
    found: dict[str, float | None] = {
        "overall": judged.passed,
        "strict": judged.passed is True,
        "official": judged.passed_officially,
        "soft_criterion": rates.criterion_share(judged.outcomes),
        "soft_turn": rates.turn_share(judged.outcomes),
        "drfr": decided.count("yes") / len(decided) if decided else None,
        "weighted": rates.points_share(judged.labels, judged.weights),
    }
    return {name: nan if value is None else float(value) for name, value in found.items()}


def _by_instance(scores: Samples) -> list[Samples]:
    """The samples (epochs) of each instance together, in the order of their first."""
    found: dict[Any, Samples] = {}
    for one in scores:
        found.setdefault(one.sample_id, []).append(one)
    return list(found.values())


def _means(instances: list[Samples]) -> list[float | None]:
    return [mean([one.score.as_float() for one in samples]) for samples in instances]


def _labels(one: SampleScore) -> list[Any]:
    verdicts = (one.score.metadata or {})["verdicts"]
    return [rates.outcome(verdict["label"], verdict["weight"]) for verdict in verdicts]


# As `benchmarks.truebench.scores` makes them.
OVER: Mapping[str, Over] = {
    "rate": lambda instances: over_values(_means(instances)),
    "share": lambda instances: rates.mean_share(_means(instances)),
    "criteria": lambda instances: drfr([[x for one in samples for x in _labels(one)] for samples in instances]),
}


def _number(value: float | None) -> float:
    return nan if value is None else value


@metric(scores="unreduced")
def value(kind: str) -> Metric:
    """A score of ours over instances, of a kind in `OVER`."""

    def of(scores: Samples) -> float:
        return _number(OVER[kind](_by_instance(scores)).value)

    return of


@metric(scores="unreduced")
def ci95_low(kind: str) -> Metric:
    """Where its 95 % interval begins; NaN where it has none."""

    def of(scores: Samples) -> float:
        return _number((OVER[kind](_by_instance(scores)).ci95 or (None, None))[0])

    return of


@metric(scores="unreduced")
def ci95_high(kind: str) -> Metric:
    """Where its 95 % interval ends; NaN where it has none."""

    def of(scores: Samples) -> float:
        return _number((OVER[kind](_by_instance(scores)).ci95 or (None, None))[1])

    return of


def _by(field: str, scores: Samples) -> dict[str, float]:
    groups: dict[str, Samples] = {}
    for one in scores:
        if name := (one.sample_metadata or {}).get(field):
            groups.setdefault(name, []).append(one)
    return {name: _number(OVER["rate"](_by_instance(its)).value) for name, its in groups.items()}


@metric(scores="unreduced")
def category() -> Metric:
    """The pass rate of each category that the data names."""

    def of(scores: Samples) -> dict[str, float]:
        return _by("category", scores)

    return of


@metric(scores="unreduced")
def language() -> Metric:
    """The pass rate of each language that the data names."""

    def of(scores: Samples) -> dict[str, float]:
        return _by("language", scores)

    return of


def _metrics(kind: str) -> list[Metric]:
    return [value(kind), ci95_low(kind), ci95_high(kind)]


METRICS: dict[str, list[Metric]] = {
    "overall": [*_metrics("rate"), category(), language()],
    **{name: _metrics("rate") for name in ("strict", "official")},
    **{name: _metrics("share") for name in ("soft_criterion", "soft_turn", "weighted")},
    "drfr": _metrics("criteria"),
}


@scorer(metrics=METRICS)
def criteria(
    judge: str | None = None,
    judge_level: str | None = None,
    rules: str | bool = "auto",
    reasoning: bool = True,
    prompt: str | list[str] | None = None,
    judge_arg: str | list[str] | dict[str, Any] | None = None,
    judge_base_url: str | None = None,
) -> Scorer:
    """Our judge on every criterion: the model in the role `grader`, a model of inspect by name, or a spec of ours.

    The other arguments are those of `truebench judge`.
    """
    try:
        judges = described(
            judge, rules, judge_level=judge_level, reasoning=reasoning, prompt=prompt, judge_arg=judge_arg,
            judge_base_url=judge_base_url,
        )  # fmt: skip
    except UserError as error:
        raise PrerequisiteError(str(error)) from error

    async def score(state: TaskState, target: Target) -> InspectScore:
        instance = instance_of(state.metadata)
        response = response_of(instance, state.messages, str(state.model), state.epoch)
        try:
            verdicts = await judges.verdicts(cases(instance, response, benchmark(instance)))
        except UserError as error:
            raise PrerequisiteError(str(error)) from error
        judged = Judged(instance, response, (*verdicts, *unanswered(instance, response)))
        reason = judged.undecided if judged.passed is None else None
        return InspectScore(value=values(judged), reason=reason, **explained(judged))

    return score
