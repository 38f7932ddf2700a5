"""Having a conversation with a model: turn by turn, with its own earlier answers as history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from truebench_hf.data.case import sent
from truebench_hf.engine.retry import RequestFailed
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.types import Instance, Message, Response


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
