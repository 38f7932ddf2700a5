"""What a judge is shown: one answer with the conversation it stands in, and the criteria to decide."""

from __future__ import annotations

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


def sections(case: Case) -> dict[str, Any]:
    """The values that judge prompts are filled with; `tag` is a suffix that occurs in none of the texts."""
    conversation = "\n\n".join(f"[{message.role}]\n{message.content}" for message in case.history)
    criteria = [_line(criterion) for criterion in case.criteria]
    context = case.context or ""
    return {
        "conversation": conversation or "(this is the first message)",
        "instruction": case.instruction,
        "response": case.response or "(the response is empty)",
        "criteria": criteria,
        "context": context,
        "category": case.category or "",
        "tag": fence(conversation, case.instruction, case.response, context, beside=criteria),
    }


def _line(criterion: Criterion) -> str:
    # In parentheses, which every judge prompt calls a note: what a criterion rests on is no demand of its own.
    text = " ".join(criterion.text.split())
    return f"{text} (It rests on this: {' '.join(criterion.condition.split())})" if criterion.condition else text
