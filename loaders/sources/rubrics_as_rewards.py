"""Rubrics as Rewards: questions of medicine and science with weighted rubrics (ScaleAI/RaR-Medicine, RaR-Science).

Each description begins with its category (`Essential Criteria: ...`), which is kept as the kind and taken off the text.
Weights stand as published, and those of pitfalls are negative: faults. How pitfalls are worded differs: most of those in
RaR-Medicine say what a bad answer does ("Does not mention ..."), most of those in RaR-Science what a good one avoids, and
a program cannot tell which is meant. `rar` keeps them as faults, as their weights say; `rar_without_pitfalls` leaves
them out.
"""

from __future__ import annotations

import re
from dataclasses import replace

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.hashing import canonical, digest
from truebench_hf.loaders.sources.common import source_item, weighted
from truebench_hf.types import Criterion, Message

_CATEGORY = re.compile(r"\s*(Essential|Important|Optional|Pitfall) Criteria:\s*(?=\S)")


def parse(record: Record, pitfalls: bool = True) -> list[Item]:
    """One question; records have no id, so that it is made of the question."""
    question = record.text("question")
    criteria = [one for one in map(_categorised, weighted(record, "rubric")) if pitfalls or one.weight > 0]
    if not criteria:
        raise record.wrong("rubric", "holds nothing but pitfalls")
    facts = {"question_source": record.maybe("question_source")}
    found = source_item(
        f"rar-{digest(canonical(question))[:12]}", "Rubrics as Rewards", "constrained", "EN",
        [Message("user", question)], criteria, example=record.maybe("reference_answer"), facts=facts,
    )  # fmt: skip
    return [found]


def _categorised(criterion: Criterion) -> Criterion:
    if (found := _CATEGORY.match(criterion.text)) is None:
        return criterion
    return replace(criterion, text=criterion.text[found.end() :], kind=found[1])
