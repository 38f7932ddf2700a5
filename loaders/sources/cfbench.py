"""CFBench: Chinese single-turn instructions with prioritised constraints (cfbench_data.json).

Where an instruction has one right answer, the corpus ships it (`gold`) and its own judge is shown it beside every
criterion, since some ask for nothing else than that the response matches it.
"""

from __future__ import annotations

from pathlib import Path

from truebench_hf.loaders.sources.common import RubricSource, by_id
from truebench_hf.loaders.sources.kept import Kept, kept
from truebench_hf.rows import Record
from truebench_hf.types import Criterion, Message


def read(path: Path, strict: bool = False) -> Kept[RubricSource]:
    """All instructions; `meta["split"]` tells easy and hard apart, `meta["priorities"]` goes with the rubrics."""
    return kept(path, lambda record: [_source(record)], key=by_id, strict=strict)


def _source(record: Record) -> RubricSource:
    criteria = [_criterion(record, number, item) for number, item in enumerate(record.items("criteria"))]
    meta = {
        "priorities": tuple(priority for _, priority in criteria),
        "split": record.maybe("split"),
        "domain": record.maybe("doamin"),  # the corpus's own spelling
        "scenario": record.maybe("scenario"),
        "isanswer": record.row.get("isanswer"),
    }
    messages = (Message("user", record.text("prompt")),)
    rubrics = tuple(criterion for criterion, _ in criteria)
    return RubricSource(
        f"cfbench-{record.id('idx')}", "CFBench", "constrained", "ZH", messages, rubrics,
        reference=(gold := record.maybe("gold")), judged_by_reference=gold is not None, meta=meta,
    )  # fmt: skip


def _criterion(record: Record, number: int, item: object) -> tuple[Criterion, str]:
    """A criterion and its priority from [text, priority, constraint type, sub-type]."""
    if not isinstance(item, list) or len(item) != 4 or not all(isinstance(part, str | int) for part in item):
        raise record.wrong(f"criteria[{number}]", "must be [text, priority, constraint type, sub-type]")
    text, priority, kind, sub_kind = map(str, item)
    if not text.strip():
        raise record.wrong(f"criteria[{number}]", "has a blank text")
    return Criterion(text, "/".join(part for part in (kind, sub_kind) if part.strip()) or None), priority
