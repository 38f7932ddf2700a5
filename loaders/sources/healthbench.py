"""HealthBench: conversations on health with physicians' rubrics, negative points for faults (openai/simple-evals).

Its meta-evaluation file (`healthbench_meta`) has a line for each criterion of a response, with the labels of several
physicians: the label is that of more than half of them, and none where they are divided.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.hashing import canonical, digest
from truebench_hf.loaders.sources.common import asked, category_of, source_item, weighted
from truebench_hf.types import Label

_THEME = "theme:"


def parse(record: Record) -> list[Item]:
    """One conversation. The record does not name a language, so it is "UND"; its tags are kinds of criteria."""
    messages = asked(record, "prompt")
    name = f"healthbench-{record.id('prompt_id')}"
    tags = record.words("example_tags")
    facts = {
        "theme": next((tag.removeprefix(_THEME) for tag in tags if tag.startswith(_THEME)), None),
        "example_tags": tags,
    }
    found = source_item(
        name, "HealthBench", category_of(messages), "UND", messages, weighted(record, "rubrics", "tags"),
        example=_ideal(record), facts=facts,
    )  # fmt: skip
    return [found]


def _ideal(record: Record) -> str | None:
    """An answer that physicians wrote."""
    data = record.row.get("ideal_completions_data")
    return None if data is None else record.part("ideal_completions_data", None, data).maybe("ideal_completion")


def meta(record: Record) -> Mapping[str, Any]:
    """One line of the meta-evaluation, in the columns of rubric_eval. Its criteria are of one checklist, by response."""
    messages = asked(record, "prompt")
    given = enumerate(record.items("binary_labels"))
    votes = [record.part("binary_labels", place, {"label": vote}).label("label") for place, vote in given]
    rubric, response = record.text("rubric"), record.id("completion_id")
    return {
        "id": f"{response}-{digest(canonical(rubric))[:12]}",
        "instruction_id": f"healthbench-{record.id('prompt_id')}",
        "response_id": response,
        "instruction_category": category_of(messages),
        "source_benchmark": "HealthBench",
        "language": "UND",
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "response": record.text("completion"),
        "rubric": rubric,
        "label": majority(votes),
        "source_label": record.maybe("category") or "",
    }


def majority(votes: list[Label | None]) -> Label | None:
    """The label of more than half of those who gave one; None where none is."""
    given = [vote for vote in votes if vote is not None]
    return next((label for label in ("yes", "no") if 2 * given.count(label) > len(given)), None)  # type: ignore[misc]
