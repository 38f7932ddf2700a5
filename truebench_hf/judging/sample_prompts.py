"""Prompts filled with sample values: to look at them, and before a run folder is opened and anything is paid for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from truebench_hf.data.case import Case
from truebench_hf.judging.case import sections
from truebench_hf.judging.grounding.types import Passage, Source, material
from truebench_hf.judging.judge import JudgeSettings, prompts_used
from truebench_hf.prompts import Prompts
from truebench_hf.types import Criterion, Message

# What each prompt is for, and who uses it.
ABOUT: Mapping[str, tuple[str, str]] = {
    "checklist": (
        "judges all criteria of a response in a call",
        "run, judge, metaeval, study calibrate, study arbitrate, Space",
    ),
    "rubric": ("judges one criterion of a response in a call", "as checklist, and study contrast"),
    "decision": ("what a judge that gives probabilities is told", "as checklist, and study contrast"),
    "decision_question": ("the question on each criterion, behind decision", "as checklist, and study contrast"),
    "repair": ("asks again where an answer cannot be read", "after every prompt whose answer is signed"),
    "meta_judge": ("settles what judges dispute, by their reasons", "study arbitrate"),
    "contrast": ("turns one criterion over by a minimal edit", "study contrast"),
    "taxonomy": ("sorts a criterion into the 13 rubric types", "study taxonomy"),
    "categories": ("sorts a question of a checklist into categories", "study checklist categories"),
    "generate_checklist": (
        "writes a checklist of questions for an instruction",
        "tick, study checklist, study refine, study best-of, rewards, Space",
    ),
    "preference": ("says which of two responses is better", "study pairwise"),
    "find_rules": ("finds what a program can measure of a criterion", "data rules"),
    "refine": ("rewrites a response by the answers to its checklist, or by a critique", "study refine"),
    "critique": ("criticises a response in prose, where no checklist does", "study refine --critique free"),
    "rating": ("rates a whole response, with a checklist or without", "study pairwise, study refine, study best-of"),
    "validate_criteria": ("finds what is wrong with the criteria of an instance", "study validate"),
    "validate_prompt": ("finds what is wrong with its instructions themselves", "study validate --stage prompt"),
    "rating_whole": ("rates a whole conversation from 1 to 10, without criteria", "study compare-criteria: mt-bench"),
    "rating_skills": ("rates the skills that the category of an instance needs", "study compare-criteria: flask"),
    "rating_criteria": ("rates how well criteria are met, and all in all", "study compare-criteria: biggen"),
    "flex_segments": ("takes an instruction apart into excerpts", "flex build"),
    "flex_criteria": ("turns the excerpts into dimensions", "flex build"),
    "flex_verify": ("verifies the dimensions", "flex build"),
    "flex_modify": ("mends what was found wrong with them", "flex build"),
    "flex_granularity": ("splits and merges them", "flex build"),
    "flex_dependencies": ("makes plain what each depends on", "flex build"),
    "flex_logic": ("finds base actions, branches and exclusions", "flex build"),
    "flex_analysis": ("tells what an instruction is about, as its users see it", "flex simulate"),
    "flex_adjust": ("fits a kind of user to an instruction", "flex simulate"),
    "flex_user": ("is all that the player of a user is told", "flex simulate"),
    "flex_end": ("tells whether a conversation is over", "flex simulate"),
    "flex_grade": ("grades how cooperative a user is", "flex study profiles"),
    "flex_profile": ("draws up a kind of user from conversations", "flex study profiles"),
    "flex_compare": ("says which of two lists of dimensions is better, by criterion", "flex study decompose"),
    "tri_valued": ("establishes three facts on a requirement in a conversation", "flex score"),
    "tri_valued_state": ("the same, for judges that give probabilities", "flex score"),
    "grounding_json": ("labels each sentence of an answer by its document, strictly", "facts run"),
    "grounding_json_alt": ("the same by plainer rules", "facts run"),
    "grounding_double_check": ("looks at a sentence with its excerpts alone", "facts run, behind grounding_json"),
    "grounding_implicit": ("labels each sentence, and then the answer", "facts run"),
    "grounding_span": ("judges one span of an answer", "facts run"),
    "grounding_response": ("judges whether an answer is grounded, as a whole", "facts run"),
    "grounding_simpleqa": ("the same, or that the answer attempts nothing", "facts run"),
    "eligibility": ("rates whether an answer does what was asked", "facts run"),
    "classify": ("sorts a prompt by domain and task", "facts classify"),
}
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
_REQUIREMENT = {
    "conversation": "[1 assistant_x]\nDo you need a hotel?\n\n[2 user_x]\nYes.", "condition": "A hotel is needed",
    "question": "When a hotel is needed, does the assistant name the limit?", "knowledge": "The limit is 140 euros.",
    "excerpts": "Needed: name the limit.", "clash": "", "measured": "[1] 6 words", "tag": "x",
}  # fmt: skip
_INSTANCE: dict[str, Any] = {
    "turns": [{"prompt": "Tell Kim in two sentences that the workshop moves to Friday.",
               "criteria": [{"number": 1, "text": "The response must have three sentences."}]}],
    "system": "", "context": "", "history": [], "tag": "x", "language": "English", "category": "Editing", "task": "Email",
    "aspects": ["correctness", "minimality", "sufficiency"],
}  # fmt: skip
_ASKED = "Does the generated conversation ask whether a hotel is needed?"
_SKILLS = [{"name": "Clear Thought", "key": "clear_thought", "levels": ["None.", "Some.", "Half.", "Much.", "All."]}]
_INSTRUCTION: dict[str, Any] = {
    "instruction": "Ask whether a hotel is needed. If so, name the limit.", "tag": "x", "findings": ["missing: the limit"],
    "segments": [{"id": "s1", "text": "Ask whether a hotel is needed."}],
    "dimensions": [{"id": "d1", "question": _ASKED,
                    "condition": "", "script": "", "segments": ["s1"]}],
    "profile": {"summary": "Willing.", "communication_style": "Short.", "information_disclosure": "What is asked.",
                "problem_solving": "Step by step.", "goals": ["a hotel"], "catchphrases": ["One more question."], "traits": ["calm"]},
    "analysis": {"context": "A call of the travel desk.", "topics": ["hotels"], "concerns": ["cost"], "terms": [],
                 "questions": ["What does it cost?"], "goals": ["a room"]},
    "first": False, "conversation": "[user_x]\nYes.", "conversations": ["[user_x]\nYes."], "level": 3,
}  # fmt: skip


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
    for name in set(chosen) & set(prompts.replaced):  # ours can be filled
        for case, form in product(_cases(), forms):
            prompts.render(name, **_values(name, case, form, reasoning) | more)


def example(name: str, prompts: Prompts, *, structured: bool = False, reasoning: bool = True, **more: Any) -> str:
    """What a prompt asks, filled with a small sample: the second turn of a conversation, judged on TRUEBench's terms.

    `more` replaces values: `kinds` of `taxonomy`, for example. Raises UserError on a replaced template that fails.
    """
    return prompts.render(name, **_values(name, _SAMPLE, structured, reasoning) | more)


def _cases() -> Iterable[Case]:
    bare = replace(_SAMPLE, history=(), benchmark=None)
    short = Criterion("It is short.", None, "Is it a summary?")
    full = replace(
        _SAMPLE, criteria=(short,), context="A document.", measured={short: "15 words"},
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
    turns = 1 + sum(message.role == "assistant" for message in case.history)
    whole = {"turns": turns, "skills": _SKILLS, "structured": structured}
    given: dict[str, dict[str, Any]] = {
        "decision": shown,
        "decision_question": {"criterion": shown["criteria"][0]},
        "repair": {"problems": "criteria_1 is missing", "keys": "criteria_1", "tag": shown["tag"]},
        "meta_judge": shown | {"opinions": opinions, "decision": False, "structured": structured},
        "contrast": shown | {"rubric": first, "others": others, "breaking": True, "kind": "", "definition": ""},
        "taxonomy": alone | {"kinds": kinds, "hint": "length", "structured": structured},
        "categories": shown | {"question": first, "categories": kinds, "structured": structured},
        "generate_checklist": shown | {"language": ""},
        "preference": shown | {"other": "Kim, it is on Friday now.", "structured": structured},
        "find_rules": alone | {"criterion": first, "condition": "It is a summary.", "structured": structured},
        "refine": shown | {"questions": answered, "critique": "", "undecided": True},
        "rating": shown | {"most": 5, "structured": structured},
        **dict.fromkeys((one for one in ABOUT if one.startswith("rating_")), shown | whole),
        **dict.fromkeys((one for one in ABOUT if one.startswith("flex_")), _INSTRUCTION | {"structured": structured}),
        **dict.fromkeys((one for one in ABOUT if one.startswith("validate_")), _INSTANCE | form),
        "flex_compare": _INSTRUCTION
        | {"first": [_ASKED], "second": [_ASKED, "Is it polite?"], "structured": structured},
        "tri_valued": _REQUIREMENT | form,
        "tri_valued_state": {name: _REQUIREMENT[name] for name in ("conversation", "knowledge", "measured", "tag")},
    }
    return (
        _grounding(case, structured)
        if name.startswith(("grounding_", "eligibility", "classify"))
        else given.get(name, shown | form)
    )


def _grounding(case: Case, structured: bool) -> dict[str, Any]:
    """What the prompts on grounding are given: a document, or passages, with a system instruction or without."""
    passages = (Passage("3", _DOCUMENT),) if case.benchmark == "tick" else ()
    system = "Use the notice alone." if case.history else ""
    source = Source("When is the workshop, and what do I bring?", "" if passages else _DOCUMENT, system, passages)
    answer = "The workshop is on Friday at 10. Please bring a laptop."
    shown = material(source, answer) | {
        "response": answer,
        "baseline": "On Friday at 10; bring your laptop.",
        "measured": "11 words",
    }
    parts = {
        "span": "Please bring a laptop.",
        "sentence": "Please bring a laptop.",
        "number": 2,
        "excerpts": [_DOCUMENT],
        "domains": [{"name": "finance", "definition": "Banks and taxes."}],
        "tasks": [{"name": "summary", "definition": "In short."}],
    }
    return shown | parts | {"structured": structured}
