"""The judge of grounding: a chat model asked by one of seven templates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from truebench_hf.judging.choice import Choice
from truebench_hf.judging.grounding.material import material, shown_answer
from truebench_hf.judging.grounding.templates import template_named
from truebench_hf.judging.grounding.types import Grounding, Source
from truebench_hf.judging.grounding.whole import ACCURATE, again, choice_request, read_verdict
from truebench_hf.models.asking import Problem, SchemaFallback, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import Sampling
from truebench_hf.prompts import Prompts


class GroundingJudge:
    """One judge with one template of `TEMPLATES`. `structured` is auto, on or off."""

    def __init__(
        self, caller: Caller, template: str, prompts: Prompts, *,
        sampling: Sampling = Sampling(max_tokens=8192), structured: str = "auto",
    ) -> None:  # fmt: skip
        self.caller, self.template, self.prompts = caller, template_named(template), prompts
        self.sampling = sampling
        self.schemas = SchemaFallback(caller, structured)

    async def verdict(self, source: Source, answer: str) -> Grounding:
        """Whether `answer` is grounded in `source`; undecided, with the reason, where the judge settles nothing.

        An answer without a word claims nothing: it is accurate without a call (not attempted, for `simpleqa`). Raises
        what `Caller.complete` raises, but for a request that failed (a window too small, say): that is undecided.
        """
        if not answer.strip():
            attempted = False if self.template == "simpleqa" else None
            return self.made(attempted is None, "the answer is empty", attempted=attempted)
        return await _ASKED[self.template](self, source, answer)

    def made(self, accurate: bool | None, reason: str, **more: Any) -> Grounding:
        """A verdict of this judge."""
        return Grounding(accurate, reason, self.template, self.caller.model.spec, **more)


async def _response(judge: GroundingJudge, source: Source, answer: str) -> Grounding:
    values = material(source, answer) | {"response": shown_answer(answer)}

    def request(structured: bool) -> Any:
        text = judge.prompts.render("grounding_response", **values, structured=structured)
        return choice_request(text, ACCURATE, structured, judge.sampling)

    def read(text: str, truncated: bool) -> Choice[bool] | Problem:
        return Problem("it is cut off") if truncated else read_verdict(text, ACCURATE)

    repair = partial(again, words=ACCURATE)
    found = await judge.schemas.ask(request, lambda made: ask(judge.caller, made, read, repair, who="the judge"))
    if isinstance(found, Problem):
        return judge.made(None, found.text)
    return judge.made(found.value, found.reason)


async def _not_yet(judge: GroundingJudge, source: Source, answer: str) -> Grounding:
    return judge.made(None, f"the template {judge.template} is not built yet")


_ASKED: dict[str, Callable[[GroundingJudge, Source, str], Awaitable[Grounding]]] = {
    "response": _response,
    "simpleqa": _not_yet,
    "span": _not_yet,
    "implicit_span": _not_yet,
    "json": _not_yet,
    "json_alt": _not_yet,
    "json_double_check": _not_yet,
}
