"""What a judge is shown: one answer with the conversation it stands in, and the criteria to decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from truebench_hf.data.conversations import with_history
from truebench_hf.prompts import fence
from truebench_hf.types import Criterion, Instance, Message, Response

_RESTS = "(It rests on this:"
_FAULT = "(This names a fault; it is met where the response has it.)"
NOTES = (_RESTS, _FAULT)  # what `stated` adds to the text of a criterion


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
    measured: Mapping[Criterion, str] = field(
        default_factory=dict, kw_only=True, compare=False
    )  # follows from the rest


def cases(instance: Instance, response: Response, benchmark: str | None = None) -> list[Case]:
    """One case per answered turn of a conversation, each with the turns before it as history."""
    messages = response.messages
    asked = [i for i, message in enumerate(messages) if message.role == "assistant"]
    found = []
    for turn, i in zip(instance.turns, asked, strict=False):
        before = with_history(instance, messages[: i - 1])
        facts = (turn.criteria, before, instance.context, category_shown(before), turn.reference)
        found.append(Case(turn.prompt, messages[i].content, *facts, benchmark=benchmark))
    return found


def category_shown(before: Sequence[Message]) -> str | None:
    """The category that what came before the instruction shows by itself: earlier turns, or a system message alone."""
    if any(message.role != "system" for message in before):
        return "multi_turn"
    return "system" if before else None


def sections(case: Case, beside: Sequence[str] = ()) -> dict[str, Any]:
    """The values that judge prompts are filled with; `tag` is a suffix that occurs in none of the texts.

    Nor does it in the texts `beside`, which a prompt shows too. The roles of the conversation bear it as well: a
    message cannot hold a turn of somebody else.
    """
    criteria = [one_line(criterion) for criterion in case.criteria]
    facts = [case.measured.get(criterion, "") for criterion in case.criteria]
    context, reference = case.context or "", case.reference or ""
    said = [message.content for message in case.history]
    tag = fence(*said, case.instruction, case.response, context, reference, beside=[*criteria, *facts, *beside])
    turns = [f"[{message.role}_{tag}]\n{message.content}" for message in case.history]
    return {
        "conversation": "\n\n".join(turns) or "(this is the first message)",
        "instruction": case.instruction,
        "response": case.response or "(the response is empty)",
        "criteria": [_with(text, told, tag) for text, told in zip(criteria, facts, strict=True)],
        # Of the whole case, so that prompts on single criteria of a response begin alike.
        "measured": bool(case.measured),
        "conditions": any(_RESTS in text for text in criteria),
        "context": context,
        "reference": reference,
        "category": case.category or "",
        "system_message": any(message.role == "system" for message in case.history),
        "benchmark": case.benchmark or "",
        "tag": tag,
    }


def _with(criterion: str, facts: str, tag: str) -> str:
    """A criterion with what was measured for it, under a name that neither its author nor the response can give."""
    return f"{criterion} (measured_{tag}: {facts})" if facts else criterion


def one_line(criterion: Criterion) -> str:
    """A criterion as it stands in a list of a prompt."""
    return " ".join(stated(criterion).split())


def names_fault(text: str) -> bool:
    """Whether a criterion as it is stated names a fault, which a good answer does not have."""
    return text.endswith(_FAULT)


def stated(criterion: Criterion) -> str:
    """A criterion as it is put to judges and to people: its text, and behind it what it rests on.

    In parentheses, which judge prompts call a note wherever they stand: what a criterion rests on is no demand of its
    own. With negative points it says how it is meant: that a response is good without the fault makes it no less met.
    Rows of arbitrated labels hold criteria in this form.
    """
    notes = [f"{_RESTS} {' '.join(criterion.condition.split())})"] if criterion.condition else []
    notes += [_FAULT] if criterion.weight < 0 else []
    return " ".join([criterion.text.rstrip(), *notes]) if notes else criterion.text
