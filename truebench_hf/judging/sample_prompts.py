"""Prompts filled with sample values: to look at them, and before a run folder is opened and anything is paid for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from truebench_hf.judging.case import Case, sections
from truebench_hf.judging.judge import JudgeSettings, prompts_used
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Message

# What each prompt is for, and who uses it.
ABOUT: Mapping[str, tuple[str, str]] = {
    "checklist": ("judges all criteria of a response in a call", "run, judge, metaeval, calibrate, arbitrate, Space"),
    "rubric": ("judges one criterion of a response in a call", "as checklist, and contrast"),
    "decision": ("what a judge that gives probabilities is told", "as checklist, and contrast"),
    "decision_question": ("the question on each criterion, behind decision", "as checklist, and contrast"),
    "repair": ("asks again where an answer cannot be read", "after checklist, rubric, meta_judge, taxonomy"),
    "meta_judge": ("settles what judges dispute, by their reasons", "arbitrate"),
    "contrast": ("turns one criterion over by a minimal edit", "contrast"),
    "taxonomy": ("sorts a criterion into the 13 rubric types", "taxonomy"),
    "generate_checklist": (
        "writes a checklist of questions for an instruction",
        "tick, refine, best-of, rewards, Space",
    ),
    "refine": ("rewrites a response by the answers to its checklist, or by a critique", "refine"),
    "critique": ("criticises a response in prose, where no checklist does", "refine --critique free"),
    "rating": ("rates a whole response, with a checklist or without", "pairwise, refine, best-of"),
}
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


def check_judge_prompts(settings: JudgeSettings, prompts: Prompts) -> None:
    """Fill every prompt of such a judge, in each form it may take.

    Raises UserError where a replaced template asks for values that there are not.
    """
    check_prompts(prompts_used(settings), prompts, settings.structured, settings.reasoning)


def check_prompts(
    chosen: Iterable[str], prompts: Prompts, structured: str = "auto", reasoning: bool = True, **more: Any
) -> None:
    """The same for prompts by name; `more` is what there is besides (see `example`)."""
    forms = {"on": (True,), "off": (False,), "auto": (False, True)}[structured]
    for name in chosen:
        for case, form in product(_cases(), forms):
            prompts.render(name, **_values(name, case, form, reasoning) | more)


def example(name: str, prompts: Prompts, *, structured: bool = False, reasoning: bool = True, **more: Any) -> str:
    """What a prompt asks, filled with a small sample: the second turn of a conversation, judged on TRUEBench's terms.

    `more` replaces values: `kinds` of `taxonomy`, for example. Raises UserError on a replaced template that fails.
    """
    return prompts.render(name, **_values(name, _SAMPLE, structured, reasoning) | more)


def _cases() -> Iterable[Case]:
    bare = replace(_SAMPLE, history=(), benchmark=None)
    full = replace(
        _SAMPLE, criteria=(Criterion("It is short.", None, "Is it a summary?"),), context="A document.",
        history=(Message("system", "Be kind."), *_SAMPLE.history), reference="An answer.",
    )  # fmt: skip
    asked = replace(bare, benchmark="tick")
    return (replace(case, category=category) for case, category in product((bare, full, asked), _CATEGORIES))


def _values(name: str, case: Case, structured: bool, reasoning: bool) -> dict[str, Any]:
    """What a prompt of that name is given."""
    first, *others = (criterion.text for criterion in case.criteria)
    shown = sections(replace(case, criteria=case.criteria[:1]) if name in ("rubric", "meta_judge") else case)
    form = {"structured": structured, "reasoning": reasoning}
    alone = {key: shown[key] for key in ("instruction", "tag")} | {"rubric": first}
    opinions = [{"verdict": "PASS", "reason": "It greets and signs."}, {"verdict": "FAIL", "reason": "No subject."}]
    answered = [{"text": "Is it an e-mail?", "answer": "NO", "reason": "It has no subject line."}]
    answered += [{"text": "Does it name the day?", "answer": answer, "reason": ""} for answer in ("YES", "OPEN")]
    kinds = [{"name": "quantity_limit", "definition": "A number binds."}]
    given: dict[str, dict[str, Any]] = {
        "decision": shown,
        "decision_question": {"criterion": shown["criteria"][0]},
        "repair": {"problems": "criteria_1 has no label", "labels": "PASS or FAIL", "count": 1},
        "meta_judge": shown | {"opinions": opinions, "decision": False, "structured": structured},
        "contrast": shown | {"rubric": first, "others": others, "breaking": True, "kind": "", "definition": ""},
        "taxonomy": alone | {"kinds": kinds, "hint": "length", "structured": structured},
        "generate_checklist": shown | {"language": ""},
        "refine": shown | {"questions": answered, "critique": "", "undecided": True},
        "rating": shown | {"most": 5, "structured": structured},
    }
    return given.get(name, shown | form)
