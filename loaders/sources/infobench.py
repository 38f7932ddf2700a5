"""InFoBench: single-turn instructions broken into decomposed yes/no questions (Hub data set kqsong/InFoBench)."""

from __future__ import annotations

from pathlib import Path

from truebench_hf.loaders.sources.common import RubricSource, by_id
from truebench_hf.loaders.sources.kept import Kept, kept
from truebench_hf.rows import Record
from truebench_hf.types import Criterion, Message


def read(path: Path, strict: bool = False) -> Kept[RubricSource]:
    """All instructions of both subsets; `meta["subset"]` tells Easy_set and Hard_set apart (RubricEval uses Hard_set)."""
    return kept(path, lambda record: [_source(record)], key=by_id, strict=strict)


def _source(record: Record) -> RubricSource:
    given = record.maybe("input")
    prompt = record.text("instruction") + (f"\n\n{given}" if given else "")
    questions = record.texts("decomposed_questions")
    labels = _labels(record, len(questions))
    rubrics = tuple(Criterion(text, kind) for text, kind in zip(questions, labels, strict=True))
    meta = {"subset": record.maybe("subset"), "category": record.maybe("category")}
    name = f"infobench-{record.id('id')}"
    return RubricSource(name, "InFoBench", "constrained", "EN", (Message("user", prompt),), rubrics, meta=meta)


def _labels(record: Record, count: int) -> list[str | None]:
    """One kind per question, its labels joined; None where the record has no labels."""
    labels = record.decoded("question_label") or [[]] * count
    if not isinstance(labels, list) or len(labels) != count or not all(isinstance(names, list) for names in labels):
        raise record.wrong("question_label", "must be a list of lists, one per question")
    return [", ".join(map(str, names)) or None for names in labels]
