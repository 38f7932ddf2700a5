"""What a judge is shown: one answer with the conversation it stands in, and the criteria to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from truebench_hf.prompts import fence
from truebench_hf.types import Criterion, Instance, Message, Response


@dataclass(frozen=True, slots=True)
class Case:
    """One answer to be judged on its criteria. `category` picks the rubric prompt's notes (RubricEval section 4.1)."""

    instruction: str
    response: str
    criteria: tuple[Criterion, ...]
    history: tuple[Message, ...] = ()  # what came before the instruction, system message included
    context: str | None = None
    category: str | None = None


def cases(instance: Instance, response: Response) -> list[Case]:
    """One case per answered turn of a conversation, each with the turns before it as history."""
    messages = response.messages
    asked = [i for i, message in enumerate(messages) if message.role == "assistant"]
    return [
        Case(turn.prompt, messages[i].content, turn.criteria, messages[: i - 1], instance.context)
        for turn, i in zip(instance.turns, asked, strict=False)
    ]


def sections(case: Case, beside: Sequence[str] = ()) -> dict[str, Any]:
    """The values that judge prompts are filled with; `tag` is a suffix that occurs in none of the texts.

    Nor does it in the texts `beside`, which a prompt shows too. The roles of the conversation bear it as well: a
    message cannot hold a turn of somebody else.
    """
    criteria = [" ".join(stated(criterion).split()) for criterion in case.criteria]
    context = case.context or ""
    said = [message.content for message in case.history]
    tag = fence(*said, case.instruction, case.response, context, beside=[*criteria, *beside])
    turns = [f"[{message.role}_{tag}]\n{message.content}" for message in case.history]
    return {
        "conversation": "\n\n".join(turns) or "(this is the first message)",
        "instruction": case.instruction,
        "response": case.response or "(the response is empty)",
        "criteria": criteria,
        "context": context,
        "category": case.category or "",
        "tag": tag,
    }


def stated(criterion: Criterion) -> str:
    """A criterion as it is put to judges and to people: its text, and behind it what it rests on.

    In parentheses, which every judge prompt calls a note: what a criterion rests on is no demand of its own.
    """
    if not criterion.condition:
        return criterion.text
    return f"{criterion.text.rstrip()} (It rests on this: {' '.join(criterion.condition.split())})"
