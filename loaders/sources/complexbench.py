"""ComplexBench: instructions whose demands are composed by And, Chain, Selection (data_final.json of thu-coai).

The questions that a question depends on (`dep`) become its condition, in words, since the answers to them decide
whether it can be met at all. The facts `depends_on` and `rules` keep the numbers of those questions (by place)
and the verification rule, one entry per rubric: by the corpus's own scoring a question fails when one that it depends
on fails, whereas a criterion whose condition does not hold does not bind.

The corpus holds a verification rule against the part of a response that a model cuts out for it, so that on the whole of
a response it measures and decides nothing. The plain ones become the `rule` of their criterion so, in Chinese: the
translation names other words, and has other lengths.
"""

from __future__ import annotations

import re

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import Category, source_item
from truebench_hf.rules import Contains, Count, EndsWith, Excludes, Rule, StartsWith, stored_text
from truebench_hf.types import Criterion, Message

_PLAIN = re.compile(r"(?:model_)?(length|length_word|keyword|forbidden_word|startswith|endswith):\s*(\S[^\n]*)")


def parse(record: Record, english: bool = False) -> list[Item]:
    """One instruction in Chinese, or in the English translation that the corpus ships."""
    suffix = "_en" if english else ""
    questions = record.parts("scoring_questions")
    texts = [question.text(f"question{suffix}") for question in questions]
    depends = _dependencies(questions)
    rubrics = tuple(
        Criterion(
            text,
            _kind(question),
            " / ".join(texts[i] for i in needed) or None,
            rule=None if english else _measured(question.maybe("rule")),
        )
        for text, question, needed in zip(texts, questions, depends, strict=True)
    )
    composed = record.words("composition_types")
    # All demands joined by And alone are RubricEval's "constrained", any branch or chain makes it "compositional".
    category: Category = "compositional" if set(composed) - {"And"} else "constrained"
    facts = {
        "rules": tuple(question.maybe("rule") for question in questions),
        "depends_on": depends,
        "composition_types": composed,
        "category": record.words("category"),
        "task_types": record.words("task_types"),
        "group": record.row.get("group"),
        "idx_in_group": record.row.get("idx_in_group"),
    }
    messages = (Message("user", record.text(f"instruction{suffix}")),)
    language = "EN" if english else "ZH"
    name = f"complexbench-{record.id('main_id')}"
    return [source_item(name, "ComplexBench", category, language, messages, rubrics, facts=facts)]


def _dependencies(questions: list[Record]) -> tuple[tuple[int, ...], ...]:
    """Per question the places of those it depends on. Raises UserError on one that does not exist."""
    places = {question.id("point_id"): place for place, question in enumerate(questions)}
    found = []
    for question in questions:
        needed = question.row.get("dep") or []
        if not isinstance(needed, list):
            raise question.wrong("dep", "must be a list of point ids")
        for point in needed:
            if str(point) not in places or places[str(point)] == places[question.id("point_id")]:
                raise question.wrong("dep", f"names {point!r}, which is no other question of this instruction")
        found.append(tuple(places[str(point)] for point in needed))
    return tuple(found)


def _measured(rule: str | None) -> str | None:
    """What a verification rule of the corpus measures of a whole response; None where it is none of the plain ones."""
    found = _PLAIN.fullmatch((rule or "").strip())
    made = _typed(found[1], found[2]) if found else None
    return stored_text((made,), complete=False) if made else None


def _typed(name: str, value: str) -> Rule | None:
    if name in ("startswith", "endswith"):
        return StartsWith(value=value) if name == "startswith" else EndsWith(value=value)
    parts = tuple(part for one in value.strip("[]").split(",") if (part := one.strip(" '\"")))
    if name in ("keyword", "forbidden_word"):
        return None if not parts else Contains(values=parts) if name == "keyword" else Excludes(values=parts)
    if len(parts) != 2 or not all(part.isdecimal() for part in parts) or int(parts[0]) > int(parts[1]):
        return None
    return Count(unit="words" if name == "length_word" else "characters", min=int(parts[0]), max=int(parts[1]))


def _kind(question: Record) -> str | None:
    return ", ".join(question.words("constraint_dimensions") + question.words("composition_types")) or None
