"""Instances as samples of inspect, and the conversations it had with a model as responses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

from truebench_hf.data.case import as_answered, sent
from truebench_hf.types import Instance, Message, Response

_KINDS = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


def chat(messages: Sequence[Message]) -> list[ChatMessage]:
    """Messages as inspect has them."""
    return [_KINDS[one.role](content=one.content) for one in messages]


def to_sample(instance: Instance) -> Sample:
    """An instance: all that is said up to its first turn as input, and the instance itself in the metadata.

    A log keeps both, so that it can be scored again.
    """
    system = (Message("system", instance.system),) if instance.system else ()
    opening = sent(instance, (*system, Message("user", instance.turns[0].prompt)))
    told = {name: getattr(instance, name) for name in ("language", "category", "task") if getattr(instance, name)}
    references = [turn.reference for turn in instance.turns if turn.reference is not None]
    return Sample(
        id=instance.id, input=chat(opening), target=references or "", metadata=told | {"instance": asdict(instance)}
    )


def instance_of(metadata: Mapping[str, Any]) -> Instance:
    """The instance that a sample was made of."""
    made: Instance = _reader().validate_python(metadata["instance"])
    return made


def response_of(instance: Instance, messages: Sequence[ChatMessage], model: str, epoch: int) -> Response:
    """The response that a conversation holds: to each turn the last that the model said before the next one.

    What other solvers put in before the first turn, or between, is no answer.
    """
    before = sum(message.role == "user" for message in instance.history) + 1
    answers: list[str] = []
    asked = 0
    for message in messages:
        asked += message.role == "user"
        if message.role == "assistant" and before <= asked < before + len(instance.turns):
            answers += [""] * (asked - before + 1 - len(answers))
            answers[asked - before] = message.text
    return Response(instance.id, model, as_answered(instance, answers), sample=epoch)


@cache
def _reader() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Instance)
