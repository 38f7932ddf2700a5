"""ProfBench: reports by experts' rubrics, three models' reports labelled by people (Hub data set nvidia/ProfBench).

A labelled item for each report. The weights are words; the corpus scores them as 4, 3, 2 and 1 points
(repository NVlabs/ProfBench).
"""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import source_item
from truebench_hf.types import Criterion, Label, Message

_POINTS = {"Critical": 4.0, "Major": 3.0, "Minor": 2.0, "Additional": 1.0}
_RESPONSE, _LABEL = "_response", "_fulfilment"


def parse(record: Record) -> list[Item]:
    """One task: an item for each report that it ships, or one without a response."""
    rubrics = record.parts("rubrics")
    criteria = tuple(map(_criterion, rubrics))
    messages, name = (Message("user", record.text("prompt")),), f"profbench-{record.id('task_id')}"
    facts = {"domain": record.maybe("domain")}
    reports = {
        field.removesuffix(_RESPONSE): text
        for field in record.row
        if field.endswith(_RESPONSE) and (text := record.maybe(field)) is not None
    }
    return [
        source_item(
            name, "ProfBench", "constrained", "EN", messages, criteria, labels=_labels(rubrics, model),
            response=text, response_id=f"{name}-{model}", model=model, facts=facts,
        )
        for model, text in reports.items()
    ] or [source_item(name, "ProfBench", "constrained", "EN", messages, criteria, facts=facts)]  # fmt: skip


def _criterion(rubric: Record) -> Criterion:
    weight = rubric.text("criterion_weight")
    if weight not in _POINTS:
        raise rubric.wrong("criterion_weight", f"is {weight!r}, which is none of {', '.join(_POINTS)}")
    kind = ", ".join(rubric.words("criterion_type")) or None
    return Criterion(rubric.text("criterion_description"), kind, weight=_POINTS[weight])


def _labels(rubrics: list[Record], model: str) -> list[Label | None]:
    return [rubric.label(f"{model}{_LABEL}") for rubric in rubrics]
