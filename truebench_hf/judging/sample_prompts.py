"""Prompts filled with sample values: to look at them, and before a run folder is opened and anything is paid for.

What each prompt is for, and the values, stand in `sample_prompts.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from truebench_hf.data.judged import Case
from truebench_hf.judging.case import sections
from truebench_hf.judging.grounding.types import Passage, Source, material
from truebench_hf.judging.judge import JudgeSettings, prompts_used
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Message

_DOCUMENT = "The workshop moves to Friday at 10. Participants bring a laptop."
# What templates may branch on: the category of the instruction, and whether there is whatever else a case can have.
_CATEGORIES = (None, "constrained", "compositional", "multi_turn", "system")
_SAMPLE = Case(
    "Now as an e-mail of at most 40 words.",
    "Hello Kim, the workshop moves to Friday at 10. Please bring your laptop. Best, Ada",
    (Criterion("The response must be an e-mail."), Criterion("The response must have at most 40 words.")),
    (
        Message("user", "Tell Kim that the workshop moves to Friday at 10."),
        Message("assistant", "Kim, the workshop is on Friday at 10."),
    ),
    category="multi_turn",
    benchmark="truebench",
)


def about_prompts() -> dict[str, tuple[str, str]]:
    """Return what each prompt does, and who uses it."""
    return {name: (sample["does"], sample["used_by"]) for name, sample in _samples()["prompts"].items()}


def check_judge_prompts(settings: JudgeSettings, prompts: Prompts) -> None:
    """Fill every replaced prompt of such a judge, in each form it may take.

    Raises UserError where a replaced template asks for values that there are not.
    """
    check_prompts(prompts_used(settings), prompts, settings.structured, settings.reasoning)


def check_prompts(
    chosen: Iterable[str], prompts: Prompts, structured: str = "auto", reasoning: bool = True, **more: Any
) -> None:
    """The same for prompts by name; `more` is what there is besides (see `example`)."""
    forms = {"on": (True,), "off": (False,), "auto": (False, True)}[structured]
    bare = replace(_SAMPLE, history=(), benchmark=None)
    short = Criterion("It is short.", None, "Is it a summary?")
    full = replace(
        _SAMPLE, criteria=(short,), context="A document.", measured={short: "15 words"},
        history=(Message("system", "Be kind."), *_SAMPLE.history), reference="An answer.",
    )  # fmt: skip
    cases = (bare, full, replace(bare, benchmark="tick"))
    for name in set(chosen) & set(prompts.replaced):  # ours can be filled
        for case, category, form in product(cases, _CATEGORIES, forms):
            prompts.render(name, **_values(name, replace(case, category=category), form, reasoning) | more)


def example(name: str, prompts: Prompts, *, structured: bool = False, reasoning: bool = True, **more: Any) -> str:
    """What a prompt asks, filled with a small sample: the second turn of a conversation, judged on TRUEBench's terms.

    `more` replaces values: `kinds` of `taxonomy`, for example. Raises UserError on a replaced template that fails.
    """
    return prompts.render(name, **_values(name, _SAMPLE, structured, reasoning) | more)


@cache
def _samples() -> dict[str, Any]:
    import yaml

    samples: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return samples


def _values(name: str, case: Case, structured: bool, reasoning: bool) -> dict[str, Any]:
    """What a prompt of that name is given."""
    sample = _samples()["prompts"][name]
    first, *others = (criterion.text for criterion in case.criteria)
    turns = 1 + sum(message.role == "assistant" for message in case.history)
    offers = {"rubric": first, "criterion": first, "question": first, "others": others, "turns": turns}
    offers |= {"criterion": sections(case)["criteria"][0]} if name == "decision_question" else {}
    forms = {"structured": structured, "reasoning": reasoning}
    return {
        **_shown(sample.get("of", "case"), case),
        **{key: offers[key] for key in sample.get("offers", ())},
        **{key: forms[key] for key in sample.get("forms", forms)},
        **sample.get("values", {}),
    }


def _shown(what: str, case: Case) -> Mapping[str, Any]:
    """What a prompt shows: a case, a part of it, or a group of values of the file."""
    match what:
        case "case":
            return sections(case)
        case "criterion":
            return sections(replace(case, criteria=case.criteria[:1]))
        case "question":
            return {key: value for key, value in sections(case).items() if key in ("instruction", "tag")}
        case "grounding":  # on a document, or passages, with a system instruction or without
            passages = (Passage("3", _DOCUMENT),) if case.benchmark == "tick" else ()
            system = "Use the notice alone." if case.history else ""
            source = Source(
                "When is the workshop, and what do I bring?", "" if passages else _DOCUMENT, system, passages
            )
            values: dict[str, Any] = _samples()["grounding"]
            return material(source, values["response"]) | values
        case "nothing":
            return {}
        case _:
            group: Mapping[str, Any] = _samples()[what]
            return group
