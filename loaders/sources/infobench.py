"""InFoBench: single-turn instructions broken into decomposed yes/no questions (Hub data set kqsong/InFoBench)."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import source_item
from truebench_hf.types import Criterion, Message


def parse(record: Record) -> list[Item]:
    """One instruction; its fact `subset` tells Easy_set and Hard_set apart (RubricEval uses Hard_set)."""
    given = record.maybe("input")
    prompt = record.text("instruction") + (f"\n\n{given}" if given else "")
    questions = record.texts("decomposed_questions")
    labels = _labels(record, len(questions))
    rubrics = tuple(Criterion(text, kind) for text, kind in zip(questions, labels, strict=True))
    facts = {"subset": record.maybe("subset"), "category": record.maybe("category")}
    name = f"infobench-{record.id('id')}"
    return [source_item(name, "InFoBench", "constrained", "EN", [Message("user", prompt)], rubrics, facts=facts)]


def _labels(record: Record, count: int) -> list[str | None]:
    """One kind per question, its labels joined; None where the record has no labels."""
    labels = record.decoded("question_label") or [[]] * count
    if not isinstance(labels, list) or len(labels) != count or not all(isinstance(names, list) for names in labels):
        raise record.wrong("question_label", "must be a list of lists, one per question")
    return [", ".join(map(str, names)) or None for names in labels]
