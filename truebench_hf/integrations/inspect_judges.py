"""Who judges under inspect: one of its models, by role or name, or one of our own specs."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, Model, get_model, model_roles
from inspect_ai.util import LimitExceededError

from truebench_hf.api.judge import mode
from truebench_hf.api.kept import Kept
from truebench_hf.benchmarks.truebench.options import JudgeGivenOptions
from truebench_hf.data.judged import Case
from truebench_hf.engine.ledger import Ledger
from truebench_hf.engine.pool import Background
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.integrations.inspect_log import chat
from truebench_hf.judging.judge import CriteriaJudge
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


class Judges:
    """The judge of a task. `name` is a spec of ours, a model of inspect, none, or "": the model in the role `grader`."""

    def __init__(self, name: str, options: Any) -> None:  # JudgeGivenOptions, whose roles have options of their own
        """Raises UserError on a judge that cannot be had."""
        self.name, self.options = name, options
        self._ours: tuple[Background, Kept] | None = None
        self._judges: dict[Any, CriteriaJudge] = {}  # by model and loop
        if name.partition(":")[0] in _OURS:  # on a loop of its own, so that its clients outlive an `eval`
            background = Background()
            opening = (name, pairs(options.judge_arg, "judge_arg"), options.judge_base_url)
            kept = Kept.opened([opening], options.settings, options.prompts, options.judge_concurrency, options)
            try:
                opened = background.run(kept)
            except BaseException:
                background.close()
                raise
            weakref.finalize(self, background.close, opened.close)  # inspect tells nobody when a task is over
            self._ours = background, opened
        elif options.settings.level in ("decision", "cascade"):
            raise UserError(f"judge_level={options.settings.level}: {_NO_SHARES}")

    async def verdicts(self, cases: list[Case]) -> list[tuple[Verdict, ...]]:
        """One verdict per criterion of each case, in order."""
        if os.environ.get("INSPECT_ASYNC_BACKEND", "asyncio").lower() not in ("asyncio", ""):
            raise UserError("INSPECT_ASYNC_BACKEND: judges need asyncio, inspect's usual one; leave it out")
        if self._ours is not None:
            background, kept = self._ours
            return list(await asyncio.gather(*(background.ask(kept.judge.verdicts(case)) for case in cases)))
        return list(await asyncio.gather(*map(self._by_inspect().verdicts, cases)))

    def _by_inspect(self) -> CaseJudge:
        if self.options.nobody:
            return NoJudge()
        check_named(self.name)
        graders = None if self.name else model_roles().get(ROLE)
        if isinstance(graders, list) and len(graders) > 1:  # as inspect's own scorers take them
            return Panel(list(map(self._judge, graders)))
        return self._judge(get_model(self.name) if self.name else get_model(role=ROLE))

    def _judge(self, model: Model) -> CriteriaJudge:
        key = (id(model), asyncio.get_running_loop())
        if key not in self._judges:
            caller = Caller(InspectModel(model), Ledger(Path(":memory:")), "judge", _AT_ONCE)
            self._judges[key] = CriteriaJudge(caller, self.options.settings, self.options.prompts)
        return self._judges[key]


def check_named(judge: str | None) -> None:
    """Raise UserError, in a running evaluation, where nobody is to judge: no model is judged by itself unasked."""
    if not judge and not model_roles().get(ROLE):
        raise UserError(f"nobody is to judge: add --model-role {ROLE}=MODEL, or -T judge=SPEC")


def judges_of(judge: str | None, rules: str | bool, **arguments: Any) -> Judges:
    """The judge that arguments of a task stand for, which are those of `truebench judge`.

    Raises UserError on what makes no sense, and on keys: a log of inspect holds all arguments.
    """
    for pair in texts(arguments.get("judge_arg")):
        if redaction.MARK in redaction.shown_argument(pair):
            raise UserError(
                f"judge_arg {pair.partition('=')[0]}: would stand in the log; keys belong in the environment"
            )
    if (url := arguments.get("judge_base_url")) and redaction.without_login(url) != url:
        raise UserError("judge_base_url: its login would stand in the log; leave it and the query out")
    known = {name: value for name, value in arguments.items() if value is not None}
    # A judge sits in no folder here, and answers come from inspect.
    place = {"out": "inspect", "responses": "inspect", "data": "inspect"}
    options = from_values(JudgeGivenOptions, {**place, **known, "judge": judge or ROLE, "rules": mode(rules)})
    return Judges(judge or "", options)


def texts(argument: Any) -> tuple[str, ...]:
    """`k=v` texts from one, several, or a mapping, as the command line of inspect reads them."""
    if isinstance(argument, Mapping):
        return tuple(f"{name}={value}" for name, value in argument.items())
    return (argument,) if isinstance(argument, str) else tuple(argument or ())
