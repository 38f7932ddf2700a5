"""Having a conversation with a model: turn by turn, with its own earlier answers as history."""

from __future__ import annotations

from collections.abc import Callable

from truebench_hf.engine.retry import RequestFailed
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.types import Instance, Message, Response


async def converse(
    instance: Instance, caller: Caller, sampling: Sampling, answered: Callable[[Response], None] = lambda response: None
) -> Response:
    """The response of a model to every turn of an instance (paper defaults: TRUEBench appendix H).

    `answered` is told the response so far after each turn. A request that fails ends the conversation there, with the
    reason in `error`: an error text never becomes an answer. Thinking is kept apart and never fed back.
    """
    messages: list[Message] = [Message("system", instance.system)] if instance.system else []
    response = Response(instance.id, caller.model.spec, tuple(messages))
    for number, turn in enumerate(instance.turns, 1):
        messages.append(Message("user", turn.prompt))
        try:
            completion = await caller.complete(ChatRequest(tuple(messages), sampling))
        except RequestFailed as error:
            return Response(
                instance.id, response.model, tuple(messages), response.reasoning, response.usage,
                f"turn {number}: {error}", response.truncated,
            )  # fmt: skip
        messages.append(Message("assistant", completion.text))
        response = Response(
            instance.id, response.model, tuple(messages), (*response.reasoning, completion.reasoning),
            response.usage + completion.usage, None, response.truncated + ((number,) if completion.truncated else ()),
        )  # fmt: skip
        answered(response)
    return response
