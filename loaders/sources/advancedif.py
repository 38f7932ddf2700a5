"""AdvancedIF: expert rubrics on single-turn, multi-turn and system instructions (Hub data set facebook/AdvancedIF).

Licence CC-BY-NC-4.0: for research, not for redistribution in a commercial product.
"""

from __future__ import annotations

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import Category, asked, source_item
from truebench_hf.types import Criterion, Message

# The names of the documentation, and those that stand in the published file.
_CATEGORIES: dict[str, Category] = {
    "if_complex_if_oss": "constrained", "complex_if_single_turn_v5": "constrained",
    "if_carried_context_oss": "multi_turn", "carried_context_multi_turn_eval_v5": "multi_turn",
    "if_system_steerability_oss": "system", "system_steerability_v2": "system",
}  # fmt: skip


def parse(record: Record) -> list[Item]:
    """One instruction of the CSV, with the response where one was generated."""
    name = record.text("benchmark_name")
    if name not in _CATEGORIES:
        raise record.wrong("benchmark_name", f"is {name!r}, which is none of {', '.join(_CATEGORIES)}")
    messages = asked(record, "conversation_history")
    category = _CATEGORIES[name]
    if category == "system" and messages[0].role == "user":
        raise record.wrong("conversation_history", f"must start with the system prompt in {name}")
    found = source_item(
        f"advancedif-{record.number:04d}", "AdvancedIF", category, "EN", messages, _rubrics(record),
        response=_response(record), facts={"benchmark_name": name},
    )  # fmt: skip
    return [found]


def _rubrics(record: Record) -> tuple[Criterion, ...]:
    metadata = record.part("prompt_metadata", None, record.decoded("prompt_metadata"))
    # Inside this JSON the list is itself written as JSON text, which `texts` reads as well.
    return tuple(map(Criterion, metadata.texts("rubrics")))


def _response(record: Record) -> str | None:
    if not record.row.get("response") or not record.decoded("response"):
        return None
    messages: tuple[Message, ...] = record.messages("response")
    if len(messages) != 1 or messages[0].role != "assistant":
        raise record.wrong("response", "must be a list of one assistant message")
    return messages[0].content
