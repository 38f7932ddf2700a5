"""What a judge is shown of a case: the values that judge prompts are filled with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truebench_hf.data.judged import RESTS, Case, stated
from truebench_hf.prompts import fence
from truebench_hf.types import Criterion


def sections(case: Case, beside: Sequence[str] = ()) -> dict[str, Any]:
    """The values that judge prompts are filled with; `tag` is a suffix that occurs in none of the texts.

    Nor does it in the texts `beside`, which a prompt shows too. The roles of the conversation bear it as well: a
    message cannot hold a turn of somebody else.
    """
    criteria = [one_line(criterion) for criterion in case.criteria]
    facts = [case.measured.get(criterion, "") for criterion in case.criteria]
    context, reference = case.context or "", case.reference or ""
    history = [message.content for message in case.history]
    tag = fence(*history, case.instruction, case.response, context, reference, beside=[*criteria, *facts, *beside])
    turns = [f"[{message.role}_{tag}]\n{message.content}" for message in case.history]
    return {
        "conversation": "\n\n".join(turns) or "(this is the first message)",
        "instruction": case.instruction,
        "response": case.response or "(the response is empty)",
        # What was measured stands under a name that neither the criterion's author nor the response can give.
        "criteria": [
            f"{text} (measured_{tag}: {figures})" if figures else text
            for text, figures in zip(criteria, facts, strict=True)
        ],
        # Of the whole case, so that prompts on single criteria of a response begin alike.
        "measured": bool(case.measured),
        "conditions": any(RESTS in text for text in criteria),
        "context": context,
        "reference": reference,
        "category": case.category or "",
        "system_message": any(message.role == "system" for message in case.history),
        "benchmark": case.benchmark or "",
        "tag": tag,
    }


def one_line(criterion: Criterion) -> str:
    """A criterion as it stands in a list of a prompt."""
    return " ".join(stated(criterion).split())
