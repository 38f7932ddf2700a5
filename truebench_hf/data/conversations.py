"""The conversation of an instance: with answers to its turns, with what was said before, and as a model is sent it."""

from __future__ import annotations

from collections.abc import Sequence

from truebench_hf.types import Instance, Message

Messages = tuple[Message, ...]


def as_answered(instance: Instance, answers: Sequence[str]) -> Messages:
    """The conversation in which these were the answers to the turns, from the first on."""
    messages = [Message("system", instance.system)] if instance.system else []
    for turn, answer in zip(instance.turns, answers, strict=False):
        messages += [Message("user", turn.prompt), Message("assistant", answer)]
    return tuple(messages)


def with_history(instance: Instance, messages: Messages) -> Messages:
    """Messages of a response behind what was said before; the system message stays in front."""
    at = 1 if messages and messages[0].role == "system" else 0
    return messages[:at] + instance.history + messages[at:]


def sent(instance: Instance, messages: Messages) -> Messages:
    """What the model is sent: the whole conversation, and the context ahead of the first that the user says in it."""
    whole = with_history(instance, messages)
    if not instance.context:
        return whole
    first = next(i for i, message in enumerate(whole) if message.role == "user")
    beside = Message("user", f"{instance.context}\n\n{whole[first].content}")
    return (*whole[:first], beside, *whole[first + 1 :])
