"""WildBench: real users' conversations with a checklist each (Hub data set allenai/WildBench, config v2)."""

from __future__ import annotations

from pathlib import Path

from truebench_hf.loaders.sources.common import Category, RubricSource, by_id
from truebench_hf.loaders.sources.kept import Kept, kept
from truebench_hf.rows import Record
from truebench_hf.types import Criterion


def read(path: Path, strict: bool = False) -> Kept[RubricSource]:
    """All conversations. The documented record does not name a language, so it is "UND"."""
    return kept(path, lambda record: [_source(record)], key=by_id, strict=strict)


def _source(record: Record) -> RubricSource:
    messages = record.messages("conversation_input")
    if messages[-1].role != "user":
        raise record.wrong("conversation_input", "must end with a user message")
    system = messages[0].role == "system"
    category: Category = "system" if system else "multi_turn" if len(messages) > 1 else "constrained"
    rubrics = tuple(map(Criterion, record.texts("checklist")))
    meta = {"primary_tag": record.maybe("primary_tag")}
    return RubricSource(
        f"wildbench-{record.id('session_id')}", "WildBench", category, "UND", messages, rubrics, meta=meta
    )
