"""The vocabulary of RubricEval: 13 rubric types in 4 dimensions, and 4 instruction categories.

Paper 003, section 3.5 and appendix L (Table 11) for the types, appendix A for the categories. The names and the
grouping are the paper's, written in snake_case; the definitions are worded for this project.
"""

from __future__ import annotations

from dataclasses import dataclass

DIMENSIONS: tuple[str, ...] = ("content", "form", "quality", "style")


@dataclass(frozen=True)
class RubricType:
    """One kind of rubric: its snake_case name, its dimension (one of `DIMENSIONS`) and what such a rubric asks for."""

    name: str
    dimension: str
    definition: str


_TYPES = (
    RubricType("content_inclusion", "content", "Something named has to be there: a fact, a word, a part, a person."),
    RubricType("content_exclusion", "content", "Something named has to be absent from the answer."),
    RubricType("topic_scope", "content", "The answer keeps to the subject it was given and does not wander off."),
    RubricType("quantity_limit", "form", "A number binds: how many items, words, sentences, or how often."),
    RubricType("format_structure", "form", "A layout, template, data format or exact output is prescribed."),
    RubricType("ordering_sequence", "form", "Parts of the answer have to come in a prescribed order."),
    RubricType("quality_requirements", "quality", "How good the answer is: right, clear, consistent, free of errors."),
    RubricType("conditional_logic", "quality", "What is due depends on a condition that the answer has to judge."),
    RubricType("task_completion", "quality", "A stated job is done to the end, or a stated product is delivered."),
    RubricType("style_tone", "style", "Manner of writing: register, mood, attitude towards the reader."),
    RubricType("language_linguistics", "style", "Choice of language, grammar, spelling, tense, form of address."),
    RubricType("multi_turn_coherence", "style", "What earlier turns settled is used and kept in this turn."),
    RubricType("role_persona", "style", "The answer comes from a prescribed person, office or point of view."),
)

RUBRIC_TYPES: dict[str, RubricType] = {kind.name: kind for kind in _TYPES}

INSTRUCTION_CATEGORIES: dict[str, str] = {
    "constrained": "One turn that sets several demands to be met at the same time.",
    "compositional": "One turn whose demands depend on each other: branches, chains of steps, joint conditions.",
    "multi_turn": "A conversation whose last turn rests on what was said or agreed before.",
    "system": "A system message sets role, rules or limits for the whole conversation.",
}
