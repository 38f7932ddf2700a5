"""RubricHub: prompts with weighted criteria in two languages, for training (Hub data set sojuL/RubricHub_v1).

The documented record is `question`, `id` and `rubrics`; the published files for training have `prompt` (messages) and
`Rubrics`, and no id. Both are read. The data says nothing of languages, so they are "UND".
"""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import asked, category_of, source_item, weighted
from truebench_hf.types import Message


def parse(record: Record) -> list[Item]:
    """One prompt; without an id its place in the file is its name."""
    plain = isinstance(record.row.get("question"), str)
    messages = (Message("user", record.text("question")),) if plain else asked(record, "prompt")
    name = record.id("id") if record.row.get("id") is not None else f"{record.number:06d}"
    criteria = weighted(record, "rubrics" if record.row.get("rubrics") is not None else "Rubrics")
    facts = {"ability": record.maybe("ability")}
    return [
        source_item(f"rubrichub-{name}", "RubricHub", category_of(messages), "UND", messages, criteria, facts=facts)
    ]
