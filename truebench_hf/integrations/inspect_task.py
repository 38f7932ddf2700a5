"""TRUEBench as a task of inspect: `inspect eval truebench_hf/truebench --model ... --model-role grader=...`.

Data, prompts, judge and scores are those of `truebench run`; models, engine and log are inspect's. Its entry point loads
this module, which needs inspect (extra `inspect`).
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import nan
from pathlib import Path
from typing import Any

from inspect_ai import Task, task
from inspect_ai._util.error import PrerequisiteError
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageUser, GenerateConfig, Model, get_model, model_roles
from inspect_ai.scorer import Metric, SampleScore, Scorer, Target, metric, scorer
from inspect_ai.scorer import Score as InspectScore
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.util import LimitExceededError
from pydantic import TypeAdapter

from truebench_hf.api.judge import Judge, judge_options
from truebench_hf.benchmarks.truebench.data import OF_DATA, GenerateOptions
from truebench_hf.benchmarks.truebench.run import benchmark, selection
from truebench_hf.benchmarks.truebench.scores import score as score_judged
from truebench_hf.data.judged import Case, Judged, as_answered, cases, judgment, sent
from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError, unknown
from truebench_hf.integrations.finished_run import groups_of, references_of
from truebench_hf.integrations.inspect_log import chat, explained
from truebench_hf.judging.judge import CriteriaJudge, Panel
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity, Sampling
from truebench_hf.models.spec import kinds
from truebench_hf.options import NOBODY, pairs
from truebench_hf.prompts import Prompts
from truebench_hf.text import redaction
from truebench_hf.types import Criterion, Instance, Message, Response, Usage, Verdict
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
        options = GenerateOptions(**{"out": "inspect", "model": "inspect", "data": str(data), **chosen})
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


def judged_of(sample: SampleScore, number: int) -> Judged:
    """What was judged in a sample of a log, as the `number`th response to its instance, with what scores rest on."""
    instance = instance_of(sample.sample_metadata or {})
    turns: list[list[Verdict]] = [[] for _ in instance.turns]
    for row in (sample.score.metadata or {})["verdicts"]:
        criterion = Criterion(row["criterion"], weight=row["weight"])
        turns[row["turn"] - 1].append(Verdict(criterion, row["label"], row["reason"], row["judge"]))
    return Judged(instance, Response(instance.id, "", (), sample=number), tuple(map(tuple, turns)))


def scores_of(judged: Sequence[Judged]) -> dict[str, Any]:
    """The scores of `truebench run`; `weighted` is there, too, where all criteria are worth the same."""
    scores = score_judged(judged).scores
    return {"weighted": scores["soft_criterion"], **scores}


def _of_samples(samples: Samples) -> dict[str, Any]:
    """The scores over the samples (epochs) of all instances."""
    numbers = Counter[Any]()
    judged = []
    for sample in samples:
        numbers[sample.sample_id] += 1
        judged.append(judged_of(sample, numbers[sample.sample_id]))
    return scores_of(judged)


@metric(scores="unreduced")
def value(name: str) -> Metric:
    """A score by its name in `truebench run`. NaN where it has none."""

    def of(scores: Samples) -> float:  # inspect hands over what the annotation says
        return _number(_of_samples(scores)[name].value)

    return of


@metric(scores="unreduced")
def ci95(name: str) -> Metric:
    """The ends of its 95 % interval; NaN where it has none."""

    def ends(scores: Samples) -> dict[str, float]:
        low, high = _of_samples(scores)[name].ci95 or (None, None)
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
        groups = _of_samples(scores).get(f"by_{field}", {})
        return {name: _number(score.value) for name, score in groups.items()}

    return of


def _number(score: float | None) -> float:
    return nan if score is None else float(score)


# Under each the value of a conversation is 0 to 1, NaN where it is unscored.
NAMES = ("overall", "strict", "official", "soft_criterion", "soft_turn", "weighted", "drfr")
METRICS: dict[str, list[Metric]] = {
    name: [value(name), ci95(name)] + ([category(), language()] if name == "overall" else []) for name in NAMES
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
        scores = scores_of([judged])
        values = {name: _number(scores[name].value) for name in NAMES}
        return InspectScore(value=values, reason=reason, **explained(judged))

    return score


ROLE = "grader"  # as inspect's own scorers call it
_OURS = kinds() | {"smollm2", NOBODY}
_AT_ONCE = 1000  # inspect limits connections itself
_NO_SHARES = "models of inspect give no probabilities; take judge_level checklist or rubric, or a spec of ours (judge=openai:...)"


class InspectModel:
    """A model of inspect as a judge asks it. Its own configuration goes before ours; it gives no probabilities."""

    batch: int | None = None
    takes_schema = False

    def __init__(self, model: Model) -> None:
        self.model, self.spec = model, str(model)
        self.identity = Identity("inspect", self.spec)

    async def complete(self, request: ChatRequest) -> Completion:
        """See `ChatModel.complete`. What ends a sample of inspect (a limit, say) is raised as it is."""
        config = generate_config(request.sampling).merge(self.model.config)
        try:
            output = await self.model.generate(chat(request.messages), config=config)
        except LimitExceededError:
            raise
        except Exception as error:
            raise RequestFailed(f"{type(error).__name__}: {error}") from error
        if output.error:
            raise RequestFailed(output.error)
        usage, spent = Usage(calls=1, unknown_calls=1), output.usage
        if spent:
            usage = Usage(spent.input_tokens, spent.output_tokens, spent.reasoning_tokens or 0, 1)
        truncated = output.stop_reason in ("max_tokens", "model_length")
        return Completion(output.completion, usage=usage, truncated=truncated)

    async def decide(self, request: DecisionRequest) -> Decision:
        """None of them can."""
        raise UserError(f"{self.spec}: {_NO_SHARES}")

    async def close(self) -> None:
        """It is inspect's."""


def generate_config(sampling: Sampling) -> GenerateConfig:
    """How an answer is drawn. At temperature 0 nucleus sampling changes nothing, and some models refuse both together."""
    drawn = {"top_p": sampling.top_p} if sampling.temperature else {}
    return GenerateConfig(temperature=sampling.temperature, max_tokens=sampling.max_tokens, **drawn)


class TaskJudge:
    """The judge of a task, as arguments of `truebench judge` say it.

    `judge` is a spec of ours, a model of inspect, none, or None: the model in the role `grader`. Raises UserError on what
    makes no sense, and on keys: a log of inspect holds all arguments.
    """

    def __init__(
        self, judge: str | None, judge_level: str | None = None, rules: str | bool = "decide", reasoning: bool = True,
        prompt: Any = None, judge_arg: Any = None, judge_base_url: str | None = None,
    ) -> None:  # fmt: skip
        for pair in texts(judge_arg):
            if redaction.MARK in redaction.shown_argument(pair):
                raise UserError(
                    f"judge_arg {pair.partition('=')[0]}: would stand in the log; keys belong in the environment"
                )
        if judge_base_url and redaction.without_login(judge_base_url) != judge_base_url:
            raise UserError("judge_base_url: its login would stand in the log; leave it and the query out")
        prompts = pairs(texts(prompt), "prompt")
        settings: dict[str, Any] = {
            "level": judge_level,
            "rules": rules,
            "reasoning": reasoning,
            "prompts": prompts,
        }
        self.judge, self._prompts = judge, Prompts(prompts)
        self._judges: dict[Any, CriteriaJudge] = {}  # by model and loop
        self._own: Judge | None = None
        if judge and judge.partition(":")[0] in _OURS:  # on a loop of its own, so that its clients outlive an `eval`
            reached = {"judge_arg": pairs(texts(judge_arg), "judge_arg"), "base_url": judge_base_url}
            self._own = Judge(judge, **settings, **reached)
        elif judge_level in ("decision", "cascade"):
            raise UserError(f"judge_level={judge_level}: {_NO_SHARES}")
        else:
            self._settings = judge_options(settings).settings(ROLE, self._prompts)

    async def verdicts(self, cases: list[Case]) -> list[tuple[Verdict, ...]]:
        """One verdict per criterion of each case, in order."""
        if os.environ.get("INSPECT_ASYNC_BACKEND", "asyncio").lower() not in ("asyncio", ""):
            raise UserError("INSPECT_ASYNC_BACKEND: judges need asyncio, inspect's usual one; leave it out")
        judge = self._own or self._by_inspect()
        return list(await asyncio.gather(*map(judge.verdicts, cases)))

    def _by_inspect(self) -> CriteriaJudge | Panel:
        check_named(self.judge)
        graders = None if self.judge else model_roles().get(ROLE)
        if isinstance(graders, list) and len(graders) > 1:  # as inspect's own scorers take them
            return Panel(list(map(self._of_model, graders)))
        return self._of_model(get_model(self.judge) if self.judge else get_model(role=ROLE))

    def _of_model(self, model: Model) -> CriteriaJudge:
        key = (id(model), asyncio.get_running_loop())
        if key not in self._judges:
            caller = Caller(InspectModel(model), Calls(Path(":memory:")), "judge", _AT_ONCE)
            self._judges[key] = CriteriaJudge(caller, self._settings, self._prompts)
        return self._judges[key]


def check_named(judge: str | None) -> None:
    """Raise UserError, in a running evaluation, where nobody is to judge: no model is judged by itself unasked."""
    if not judge and not model_roles().get(ROLE):
        raise UserError(f"nobody is to judge: add --model-role {ROLE}=MODEL, or -T judge=SPEC")


def texts(argument: Any) -> tuple[str, ...]:
    """`k=v` texts from one, several, or a mapping, as the command line of inspect reads them."""
    if isinstance(argument, Mapping):
        return tuple(f"{name}={value}" for name, value in argument.items())
    return (argument,) if isinstance(argument, str) else tuple(argument or ())
