"""Who judges under inspect: one of its models, by role or name, or one of our own specs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inspect_ai.model import GenerateConfig, Model, get_model, model_roles
from inspect_ai.util import LimitExceededError

from truebench_hf.api.judge import Judge, judge_options
from truebench_hf.data.judged import Case
from truebench_hf.engine.ledger import Calls
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.integrations.inspect_log import chat
from truebench_hf.judging.judge import CriteriaJudge, Panel
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Completion, Decision, DecisionRequest, Identity, Sampling
from truebench_hf.models.spec import kinds
from truebench_hf.options import NOBODY, pairs
from truebench_hf.prompts import Prompts
from truebench_hf.text import redaction
from truebench_hf.types import Usage, Verdict

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
