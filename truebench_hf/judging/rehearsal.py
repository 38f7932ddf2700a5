"""A judge's prompts filled once with sample values, before a run folder is opened and anything is paid for."""

from __future__ import annotations

from itertools import product
from typing import Any

from truebench_hf.judging.case import Case, sections
from truebench_hf.judging.judge import JudgeSettings, prompts_used
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Message

# What templates may branch on: the category of the instruction, and whether there is a document.
_CATEGORIES = (None, "constrained", "compositional", "multi_turn", "system")
_CONTEXTS = (None, "A document.")


def rehearse(settings: JudgeSettings, prompts: Prompts) -> None:
    """Fill every prompt of such a judge, in each form it may take.

    Raises UserError where a replaced template asks for values that there are not.
    """
    for name in prompts_used(settings):
        for values in _values(name, settings):
            prompts.render(name, **values)


def _values(name: str, settings: JudgeSettings) -> list[dict[str, Any]]:
    if name == "decision_question":
        return [{"criterion": "It is short."}]
    if name == "repair":
        return [{"problems": "criteria_1 has no label", "labels": "YES or NO", "count": 1}]
    before, criteria = (Message("user", "Hello."), Message("assistant", "Hello!")), (Criterion("It is short."),)
    shown = [
        sections(Case("Sum it up.", "Done.", criteria, before, context, category))
        for context, category in product(_CONTEXTS, _CATEGORIES)
    ]
    if name == "decision":
        return shown
    forms = {"on": (True,), "off": (False,), "auto": (False, True)}[settings.structured]
    return [values | {"structured": form, "reasoning": settings.reasoning} for values in shown for form in forms]
