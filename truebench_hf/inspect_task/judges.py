"""Who judges under inspect: one of its models, by role or name, or one of our own specs."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, Model, get_model, model_roles
from inspect_ai.util import LimitExceededError

from truebench_hf.api.judge import mode
from truebench_hf.api.kept import Kept
from truebench_hf.benchmarks.truebench.options import JudgeGivenOptions
from truebench_hf.data.case import Case
from truebench_hf.engine.background import Background
from truebench_hf.engine.ledger import Ledger
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.inspect_task.samples import chat
from truebench_hf.judging.judge import Judge
from truebench_hf.judging.panel import CaseJudge, NoJudge, Panel
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity, Sampling
from truebench_hf.models.spec import kinds
from truebench_hf.options import from_values, pairs
from truebench_hf.text import redaction
from truebench_hf.types import Usage, Verdict

ROLE = "grader"  # as inspect's own scorers call it
_OURS = kinds() | {"smollm2"}
_AT_ONCE = 1000  # inspect limits connections itself


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
        spent = output.usage
        usage = (
            Usage(spent.input_tokens, spent.output_tokens, spent.reasoning_tokens or 0, 1)
            if spent
            else Usage(0, 0, 0, 1, 1)
        )
        return Completion(
            output.completion, usage=usage, truncated=output.stop_reason in ("max_tokens", "model_length")
        )

    async def decide(self, request: DecisionRequest) -> Decision:
        """None of them can."""
        raise UserError(f"{self.spec}: {_NO_SHARES}")

    async def close(self) -> None:
        """It is inspect's."""


_NO_SHARES = "models of inspect give no probabilities; take judge_level checklist or rubric, or a spec of ours (judge=openai:...)"


def generate_config(sampling: Sampling) -> GenerateConfig:
    """How an answer is drawn. At temperature 0 nucleus sampling changes nothing, and some models refuse both together."""
    drawn = {"top_p": sampling.top_p} if sampling.temperature else {}
    return GenerateConfig(temperature=sampling.temperature, max_tokens=sampling.max_tokens, **drawn)


@dataclass
class Judges:
    """The judge of a task. `name` is a spec of ours, a model of inspect, none, or "": the model in the role `grader`."""

    name: str
    options: Any  # JudgeGivenOptions
    _kept: tuple[Background, Kept] | None = None
    _made: dict[Any, Judge] = field(default_factory=dict)  # by model and loop

    def __post_init__(self) -> None:
        self.ours = bool(self.name) and self.name.partition(":")[0] in _OURS
        settings = self.options.settings
        if not self.ours and settings.level in ("decision", "cascade"):
            raise UserError(f"judge_level={settings.level}: {_NO_SHARES}")
        if self.ours:
            background = Background()
            given = pairs(self.options.judge_arg, "judge_arg")
            opening = (self.name, given, self.options.judge_base_url)
            opened = Kept.opened(
                [opening], settings, self.options.prompts, self.options.judge_concurrency, self.options.patience, None
            )
            try:
                kept = background.run(opened)
            except BaseException:
                background.close()
                raise
            self._kept = background, kept
            weakref.finalize(self, background.close, kept.close)  # inspect tells nobody when a task is over

    async def verdicts(self, cases: list[Case]) -> list[tuple[Verdict, ...]]:
        """One verdict per criterion of each case, in order."""
        if os.environ.get("INSPECT_ASYNC_BACKEND", "asyncio").lower() not in ("asyncio", ""):
            raise UserError("INSPECT_ASYNC_BACKEND: judges need asyncio, inspect's usual one; leave it out")
        if self._kept is not None:  # on a loop of its own, so that clients outlive an `eval`
            background, kept = self._kept
            return list(await asyncio.gather(*(background.ask(kept.judge.verdicts(case)) for case in cases)))
        if self.options.nobody:
            return list(await asyncio.gather(*map(NoJudge().verdicts, cases)))
        check_named(self.name)
        several = None if self.name else model_roles().get(ROLE)
        judge: CaseJudge
        if isinstance(several, list) and len(several) > 1:  # as inspect's own scorers take them
            judge = Panel(list(map(self._of, several)))
        else:
            judge = self._of(get_model(self.name) if self.name else get_model(role=ROLE))
        return list(await asyncio.gather(*map(judge.verdicts, cases)))

    def _of(self, model: Model) -> Judge:
        key = (id(model), asyncio.get_running_loop())
        if key not in self._made:
            caller = Caller(InspectModel(model), Ledger(Path(":memory:")), "judge", _AT_ONCE)
            self._made[key] = Judge(caller, self.options.settings, self.options.prompts)
        return self._made[key]


def check_named(judge: str | None) -> None:
    """Raise UserError, in a running evaluation, where nobody is to judge: no model is judged by itself unasked."""
    if not judge and not model_roles().get(ROLE):
        raise UserError(f"nobody is to judge: add --model-role {ROLE}=MODEL, or -T judge=SPEC")


def described(judge: str | None, rules: str | bool, **told: Any) -> Judges:
    """The judge that arguments of a task stand for, which are those of `truebench judge`.

    Raises UserError on what makes no sense, and on keys: a log of inspect holds all arguments.
    """
    for given in texts(told.get("judge_arg")):
        if redaction.MARK in redaction.shown_argument(given):
            name = given.partition("=")[0]
            raise UserError(f"judge_arg {name}: would stand in the log; keys belong in the environment")
    if (url := told.get("judge_base_url")) and redaction.without_login(url) != url:
        raise UserError("judge_base_url: its login would stand in the log; leave it and the query out")
    known = {name: value for name, value in told.items() if value is not None}
    # A judge sits in no folder here, and answers come from inspect.
    place = {"out": "inspect", "responses": "inspect", "data": "inspect"}
    options = from_values(JudgeGivenOptions, {**place, **known, "judge": judge or ROLE, "rules": mode(rules)})
    return Judges(judge or "", options)


def texts(given: Any) -> tuple[str, ...]:
    """`k=v` texts from one, several, or a mapping, as the command line of inspect reads them."""
    if isinstance(given, Mapping):
        return tuple(f"{name}={value}" for name, value in given.items())
    return (given,) if isinstance(given, str) else tuple(given or ())
