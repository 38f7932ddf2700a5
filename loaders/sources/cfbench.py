"""CFBench: Chinese single-turn instructions with prioritised constraints (cfbench_data.json).

Where an instruction has one right answer, the corpus ships it (`gold`) and its own judge is shown it beside every
criterion, since some ask for nothing else than that the response matches it.
"""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import source_item
from truebench_hf.types import Criterion, Message


def parse(record: Record) -> list[Item]:
    """One instruction; its facts `split` tells easy and hard apart, `priorities` goes with the rubrics."""
    criteria = [_criterion(record, number, item) for number, item in enumerate(record.items("criteria"))]
    facts = {
        "priorities": tuple(priority for _, priority in criteria),
        "split": record.maybe("split"),
        "domain": record.maybe("doamin"),  # the corpus's own spelling
        "scenario": record.maybe("scenario"),
        "isanswer": record.row.get("isanswer"),
    }
    messages = (Message("user", record.text("prompt")),)
    rubrics = tuple(criterion for criterion, _ in criteria)
    name, gold = f"cfbench-{record.id('idx')}", record.maybe("gold")
    return [source_item(name, "CFBench", "constrained", "ZH", messages, rubrics, reference=gold, facts=facts)]


def _criterion(record: Record, number: int, item: object) -> tuple[Criterion, str]:
    """A criterion and its priority from [text, priority, constraint type, sub-type]."""
    if not isinstance(item, list) or len(item) != 4 or not all(isinstance(part, str | int) for part in item):
        raise record.wrong(f"criteria[{number}]", "must be [text, priority, constraint type, sub-type]")
    text, priority, kind, sub_kind = map(str, item)
    if not text.strip():
        raise record.wrong(f"criteria[{number}]", "has a blank text")
    return Criterion(text, "/".join(part for part in (kind, sub_kind) if part.strip()) or None), priority
