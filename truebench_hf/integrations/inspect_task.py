"""TRUEBench as a task of inspect: `inspect eval truebench_hf/truebench --model ... --model-role grader=...`.

Data, prompts, judge and scores are those of `truebench run`; models, engine and log are inspect's. Its entry point loads
this module, which needs inspect (extra `inspect`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from math import nan
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageUser
from inspect_ai.scorer import Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import TypeAdapter

from truebench_hf.benchmarks.truebench.data import OF_DATA, GenerateOptions
from truebench_hf.benchmarks.truebench.study import benchmark, selection
from truebench_hf.data.judged import Judged, as_answered, cases, judgment, sent
from truebench_hf.errors import UserError, unknown
from truebench_hf.integrations.finished_run import groups_of, references_of
from truebench_hf.integrations.inspect_judge import TaskJudge, check_named, generate_config, texts
from truebench_hf.integrations.inspect_log import chat, explained
from truebench_hf.metrics import pass_rate as rates
from truebench_hf.metrics.pass_rate import drfr
from truebench_hf.metrics.votes import mean
from truebench_hf.options import from_values
from truebench_hf.types import Instance, Message, Response, Score
from truebench_hf.version import __version__

__all__ = ["criteria", "truebench", "turns"]
JUDGING = ("judge", "judge_level", "rules", "reasoning", "prompt", "judge_arg", "judge_base_url")


@solver
def turns() -> Solver:
    """One answer of the model to every turn, with its own earlier answers as history."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        for place, turn in enumerate(instance_of(state.metadata).turns):
            if place:
                state.messages.append(ChatMessageUser(content=turn.prompt))
            state = await generate(state)
        return state

    return solve


@solver
def judged(by: str | None) -> Solver:
    """Refuses an evaluation without a judge before its model is asked anything."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        try:
            check_named(by)
        except UserError as error:
            raise PrerequisiteError(str(error)) from error
        return state

    return solve


@task
def truebench(data: str = "truebench", **arguments: Any) -> Task:
    """TRUEBench, or data of one's own, by the model that inspect evaluates.

    Arguments are options of `truebench run` under their names: of the data `data`, `column`, `criteria`, `language`,
    `category`, `limit` (a sample that keeps their shares) and `seed`; of the judge `judge` (a spec of ours or a model of
    inspect; without one the model in the role `grader`), `judge_level`, `rules`, `reasoning`, `prompt`, `judge_arg` and
    `judge_base_url`. How answers are drawn is inspect's to say; ours is temperature 0 and 4,096 tokens.
    """
    arguments.pop("model", None)  # inspect passes it to every task
    try:
        if wrong := [name for name in arguments if name not in (*OF_DATA, *JUDGING)]:
            raise unknown("argument of the task", wrong[0], (*OF_DATA, *JUDGING))
        chosen = {name: arguments[name] for name in OF_DATA if arguments.get(name) is not None}
        for name in ("language", "category"):  # with commas, as inspect's own command line has lists
            if isinstance(chosen.get(name), str):
                chosen[name] = [part.strip() for part in chosen[name].split(",")]
        if "column" in chosen:
            chosen["column"] = texts(chosen["column"])
        # What a command has and a task has not: inspect answers, and no folder is written.
        options = from_values(GenerateOptions, {"out": "inspect", "model": "inspect", "data": str(data), **chosen})
        items = selection(options)
        instances = items.sampled(options.limit, options.seed)
    except UserError as error:
        raise PrerequisiteError(str(error)) from error
    judging = {name: arguments[name] for name in JUDGING if arguments.get(name) is not None}
    return Task(
        dataset=MemoryDataset(list(map(to_sample, instances)), name=str(data)),
        setup=judged(judging.get("judge")),
        solver=turns(),
        scorer=criteria(**judging),
        config=generate_config(options.sampling).merge({"reasoning_history": "none"}),
        metadata={"truebench_hf": __version__, "data_sha256": items.data_sha256(instances)},
    )


Samples = list[SampleScore]
_INSTANCE = TypeAdapter(Instance)


def to_sample(instance: Instance) -> Sample:
    """An instance: all that is said up to its first turn as input, and the instance itself in the metadata.

    A log keeps both, so that it can be scored again.
    """
    system = (Message("system", instance.system),) if instance.system else ()
    opening = sent(instance, (*system, Message("user", instance.turns[0].prompt)))
    metadata = groups_of(instance) | {"instance": asdict(instance)}
    return Sample(id=instance.id, input=chat(opening), target=references_of(instance) or "", metadata=metadata)


def instance_of(metadata: Mapping[str, Any]) -> Instance:
    """The instance that a sample was made of."""
    return _INSTANCE.validate_python(metadata["instance"])


def response_of(instance: Instance, messages: Sequence[ChatMessage], model: str, epoch: int) -> Response:
    """The response that a conversation holds: to each turn the last that the model said before the next one.

    What other solvers put in before the first turn, or between, is no answer.
    """
    before = sum(message.role == "user" for message in instance.history) + 1
    answers: list[str] = []
    prompt_number = 0
    for message in messages:
        prompt_number += message.role == "user"
        if message.role == "assistant" and before <= prompt_number < before + len(instance.turns):
            answers += [""] * (prompt_number - before + 1 - len(answers))
            answers[prompt_number - before] = message.text
    return Response(instance.id, model, as_answered(instance, answers), sample=epoch)


def values(judged: Judged) -> dict[str, float]:
    """What one conversation is worth under each score: 0 to 1, NaN where it is unscored.

    `overall` passes or fails, `strict` counts unscored as failed, `official` goes by the official rule; `soft_criterion`
    and `soft_turn` are shares, `drfr` the share of the decided criteria, `weighted` that of the points, where criteria
    have some.
    """
    decided = [label for turn in judged.outcomes for label in turn if label in ("yes", "no")]
    scores: dict[str, float | None] = {
        "overall": judged.passed,
        "strict": judged.passed is True,
        "official": judged.passed_officially,
        "soft_criterion": rates.checklist_share(chain.from_iterable(judged.outcomes)),
        "soft_turn": rates.turn_share(judged.outcomes),
        "drfr": decided.count("yes") / len(decided) if decided else None,
        "weighted": rates.weighted_share(chain.from_iterable(judged.labels), chain.from_iterable(judged.weights)),
    }
    return {name: _number(score) for name, score in scores.items()}


def _score(kind: str, scores: Samples) -> Score:
    """A score over instances, from the samples (epochs) of each, as `benchmarks.truebench.scores` makes it."""
    instances: dict[Any, Samples] = {}
    for sample in scores:
        instances.setdefault(sample.sample_id, []).append(sample)
    if kind == "criteria":
        verdicts = [
            [v for s in samples for v in (s.score.metadata or {})["verdicts"]] for samples in instances.values()
        ]
        return drfr([[rates.outcome(v["label"], v["weight"]) for v in of_instance] for of_instance in verdicts])
    means = [mean([sample.score.as_float() for sample in samples]) for samples in instances.values()]
    return rates.pass_rate(means) if kind == "rate" else rates.mean_share(means)


@metric(scores="unreduced")
def value(kind: str) -> Metric:
    """A score of ours over instances: of a kind rate, share or criteria. NaN where it has none."""

    def of(scores: Samples) -> float:  # inspect hands over what the annotation says
        return _number(_score(kind, scores).value)

    return of


@metric(scores="unreduced")
def ci95(kind: str) -> Metric:
    """The ends of its 95 % interval; NaN where it has none."""

    def ends(scores: Samples) -> dict[str, float]:
        low, high = _score(kind, scores).ci95 or (None, None)
        return {"low": _number(low), "high": _number(high)}

    return ends


@metric(scores="unreduced")
def category() -> Metric:
    """The pass rate of each category that the data names."""
    return _by("category")


@metric(scores="unreduced")
def language() -> Metric:
    """The pass rate of each language that the data names."""
    return _by("language")


def _by(field: str) -> Metric:
    def of(scores: Samples) -> dict[str, float]:
        groups: dict[str, Samples] = {}
        for sample in scores:
            groups.setdefault((sample.sample_metadata or {}).get(field) or "", []).append(sample)
        return {name: _number(_score("rate", samples).value) for name, samples in groups.items() if name}

    return of


def _number(score: float | None) -> float:
    return nan if score is None else float(score)


_KINDS = {
    "overall": "rate", "strict": "rate", "official": "rate", "soft_criterion": "share", "soft_turn": "share",
    "weighted": "share", "drfr": "criteria",
}  # fmt: skip
METRICS: dict[str, list[Metric]] = {
    name: [value(kind), ci95(kind)] + ([category(), language()] if name == "overall" else [])
    for name, kind in _KINDS.items()
}


@scorer(metrics=METRICS)
def criteria(
    judge: str | None = None,
    judge_level: str | None = None,
    rules: str | bool = "decide",
    reasoning: bool = True,
    prompt: str | list[str] | None = None,
    judge_arg: str | list[str] | dict[str, Any] | None = None,
    judge_base_url: str | None = None,
) -> Scorer:
    """Our judge on every criterion: the model in the role `grader`, a model of inspect by name, or a spec of ours.

    The other arguments are those of `truebench judge`.
    """
    try:
        judges = TaskJudge(judge, judge_level, rules, reasoning, prompt, judge_arg, judge_base_url)
    except UserError as error:
        raise PrerequisiteError(str(error)) from error

    async def score(state: TaskState, target: Target) -> InspectScore:
        instance = instance_of(state.metadata)
        response = response_of(instance, state.messages, str(state.model), state.epoch)
        try:
            verdicts = await judges.verdicts(cases(instance, response, benchmark(instance)))
        except UserError as error:
            raise PrerequisiteError(str(error)) from error
        judged = judgment(instance, response, verdicts)
        reason = judged.undecided if judged.passed is None else None
        return InspectScore(value=values(judged), reason=reason, **explained(judged))

    return score
