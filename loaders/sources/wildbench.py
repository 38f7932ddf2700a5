"""WildBench: real users' conversations with a checklist each (Hub data set allenai/WildBench, config v2)."""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.judging.rules.matching import language_codes
from truebench_hf.loaders.sources.common import asked, category_of, source_item
from truebench_hf.types import Criterion


def parse(record: Record) -> list[Item]:
    """One conversation, in the language that its last message names: "UND" where it names none of one written form."""
    messages = asked(record, "conversation_input")
    rubrics = tuple(map(Criterion, record.texts("checklist")))
    name, facts = f"wildbench-{record.id('session_id')}", {"primary_tag": record.maybe("primary_tag")}
    said = record.parts("conversation_input")[-1].row.get("language")
    codes = language_codes().get(said.casefold(), ()) if isinstance(said, str) else ()
    language = codes[0].upper() if len(codes) == 1 else "UND"
    return [source_item(name, "WildBench", category_of(messages), language, messages, rubrics, facts=facts)]
