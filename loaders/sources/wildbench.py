"""WildBench: real users' conversations with a checklist each (Hub data set allenai/WildBench, config v2)."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.loaders.sources.common import asked, category_of, source_item
from truebench_hf.rows import Record
from truebench_hf.types import Criterion


def parse(record: Record) -> list[Item]:
    """One conversation. The documented record does not name a language, so it is "UND"."""
    messages = asked(record, "conversation_input")
    rubrics = tuple(map(Criterion, record.texts("checklist")))
    name, facts = f"wildbench-{record.id('session_id')}", {"primary_tag": record.maybe("primary_tag")}
    return [source_item(name, "WildBench", category_of(messages), "UND", messages, rubrics, facts=facts)]
