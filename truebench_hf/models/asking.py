"""Asking a model: a whole conversation turn by turn, or until its answer can be read, with or without a JSON schema."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from truebench_hf.data.judged import sent
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.errors import UserError
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling, SchemaRefused
from truebench_hf.types import Instance, Message, Response

T = TypeVar("T")
ASK_AGAIN = 2  # how often a model is told what was wrong with its answer
CUT_OFF = "the answer was cut off at the token limit"


async def converse(
    instance: Instance, caller: Caller, sampling: Sampling,
    answered: Callable[[Response], None] = lambda response: None, sample: int = 1,
) -> Response:  # fmt: skip
    """The response of a model to every turn of an instance (paper defaults: TRUEBench appendix H).

    What the data gives beside the turns (an earlier conversation, a context) the model is sent and the response does not
    hold: it stands in the instance. Another `sample` (from 1) is another draw, and stays so from turn to turn. `answered`
    is told the response so far after each turn. A request that fails ends
    the conversation there, with the reason in `error`: an error text never becomes an answer. Thinking is kept apart and
    never fed back.
    """
    messages: list[Message] = [Message("system", instance.system)] if instance.system else []
    response = Response(instance.id, caller.model.spec, tuple(messages), sample=sample)
    for number, turn in enumerate(instance.turns, 1):
        messages.append(Message("user", turn.prompt))
        try:
            # Draws are numbered from 0 there, as those of judges are: one answer and the first of several are one call.
            completion = await caller.complete(ChatRequest(sent(instance, tuple(messages)), sampling, sample - 1))
        except RequestFailed as error:
            return replace(response, messages=tuple(messages), error=f"turn {number}: {error}")
        messages.append(Message("assistant", completion.text))
        response = replace(
            response, messages=tuple(messages), reasoning=(*response.reasoning, completion.reasoning),
            usage=response.usage + completion.usage,
            truncated=response.truncated + ((number,) if completion.truncated else ()),
        )  # fmt: skip
        answered(response)
    return response


@dataclass(frozen=True, slots=True)
class Problem:
    """Why an answer cannot be used. `final`: another answer would have the same problem, so none is asked for.

    `failed`: there is no answer, since the request failed; the same one may do better another day.
    """

    text: str
    final: bool = False
    failed: bool = False


async def ask(
    caller: Caller,
    request: ChatRequest,
    read: Callable[[str, bool], T | Problem],
    repair: Callable[[str], str],
    *,
    who: str = "the model",
    warmer: float = 0.0,
) -> T | Problem:
    """What `read` makes of the first answer that it can use, else the Problem of the last one.

    `read(text, truncated)` gives a value or a Problem; it sees every answer once, in order. `repair(problem)` is the
    message that asks again, behind the answer it is about, each time by `warmer` above the temperature before. A request
    that fails is a Problem too, which names `who`.
    Raises SchemaRefused and UserError as `Caller.complete` does.
    """
    problem = Problem("")
    for _ in range(1 + ASK_AGAIN):
        try:
            completion = await caller.complete(request)
        except RequestFailed as error:  # it was retried below
            return Problem(f"{who} gave no answer: {error}", failed=True)
        parsed = read(completion.text, completion.truncated)
        if not isinstance(parsed, Problem):
            return parsed
        problem = replace(parsed, text=CUT_OFF) if completion.truncated else parsed
        if problem.final:
            break
        # The conversation grows: the same bad answer twice must not make the same request twice, which the ledger
        # would answer. Some servers refuse an empty message.
        answer = Message("assistant", completion.text if completion.text.strip() else "(empty answer)")
        again = Message("user", repair(problem.text))
        sampling = replace(request.sampling, temperature=request.sampling.temperature + warmer)
        request = replace(request, messages=(*request.messages, answer, again), sampling=sampling)
    return problem


class SchemaFallback:
    """Asking with a JSON schema, or without one where the server refuses it. `mode` is auto, on (always) or off (never).

    With `auto` a schema that is refused is left out: for that question alone, or for all where none was ever taken.
    What the ledger answers is asked as it was, so that a resumed run asks nothing again.
    """

    def __init__(self, caller: Caller, mode: str = "auto") -> None:
        self.caller = caller
        self._mode = mode if mode != "auto" or caller.model.takes_schema else "off"
        self._taken = self._refused = False

    async def ask(self, request: Callable[[bool], ChatRequest], use: Callable[[ChatRequest], Awaitable[T]]) -> T:
        """What `use` makes of `request(True)`, the request with a schema, or else of `request(False)`.

        Raises what `use` raises, and UserError where `on` is refused.
        """
        if self._mode == "on":
            try:
                return await use(request(True))
            except SchemaRefused as error:
                reason = f"{self.caller.model.spec} takes no JSON schema ({error})"
                raise UserError(f"{reason}; use --structured off") from error
        # What was answered without a schema had been refused with it.
        if self._mode == "off" or (self.caller.resumed and self.caller.knows(request(False))):
            return await use(request(False))
        shaped = request(True)
        self._taken = self._taken or (self.caller.resumed and self.caller.knows(shaped))
        if self._refused and not self._taken:
            return await use(request(False))
        try:
            answer = await use(shaped)
        except SchemaRefused:
            self._refused = True
            answer = await use(request(False))
        self._taken = self._taken or self.caller.knows(shaped)
        return answer
