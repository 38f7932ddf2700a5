"""What models and judges are asked about: the conversation of an instance, and one answer in it with its criteria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from truebench_hf.types import Criterion, Instance, Message, Response

RESTS = "(It rests on this:"
FAULT = "(This names a fault; it is met where the response has it.)"
Messages = tuple[Message, ...]
NOTES = (RESTS, FAULT)  # what `stated` adds to the text of a criterion


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be judged on its criteria.

    `category` picks the prompts' note on this kind of instruction (RubricEval section 4.1), `benchmark` those on how
    the criteria of a benchmark are meant. `reference` is an answer known to be right, shown to judges as material.
    `measured` is what programs counted in the response, by the criterion it bears on.
    """

    instruction: str
    response: str
    criteria: tuple[Criterion, ...]
    history: tuple[Message, ...] = ()  # what came before the instruction, system message included
    context: str | None = None
    category: str | None = None
    reference: str | None = None
    benchmark: str | None = field(default=None, kw_only=True)
    # Follows from the rest.
    measured: Mapping[Criterion, str] = field(default_factory=dict, kw_only=True, compare=False)


def cases(instance: Instance, response: Response, benchmark: str | None = None) -> list[Case]:
    """One case per answered turn of a conversation, each with the turns before it as history."""
    messages = response.messages
    places = [i for i, message in enumerate(messages) if message.role == "assistant"]
    answered = []
    for turn, i in zip(instance.turns, places, strict=False):
        before = with_history(instance, messages[: i - 1])
        facts = (turn.criteria, before, instance.context, category_shown(before), turn.reference)
        answered.append(Case(turn.prompt, messages[i].content, *facts, benchmark=benchmark))
    return answered


def category_shown(before: Sequence[Message]) -> str | None:
    """The category that what came before the instruction shows by itself: earlier turns, or a system message alone."""
    if any(message.role != "system" for message in before):
        return "multi_turn"
    return "system" if before else None


def names_fault(text: str) -> bool:
    """Whether a criterion as it is stated names a fault, which a good answer does not have."""
    return text.endswith(FAULT)


def stated(criterion: Criterion) -> str:
    """A criterion as it is put to judges and to people: its text, and behind it what it rests on.

    In parentheses, which judge prompts call a note wherever they stand: what a criterion rests on is no demand of its
    own. With negative points it says how it is meant: that a response is good without the fault makes it no less met.
    Rows of arbitrated labels hold criteria in this form.
    """
    notes = [f"{RESTS} {' '.join(criterion.condition.split())})"] if criterion.condition else []
    notes += [FAULT] if criterion.weight < 0 else []
    return " ".join([criterion.text.rstrip(), *notes]) if notes else criterion.text


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
    conversation = with_history(instance, messages)
    if not instance.context:
        return conversation
    first = next(i for i, message in enumerate(conversation) if message.role == "user")
    request = Message("user", f"{instance.context}\n\n{conversation[first].content}")
    return (*conversation[:first], request, *conversation[first + 1 :])
