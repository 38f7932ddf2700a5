"""SysBench: five-turn Chinese dialogues under a system prompt (system_benchmark_eval_datas.json).

One item per turn, with the reference answers of the turns before it as history. The documentation does not fix
every container, so `prompt_infos` may be a list in the order of the turns or an object by user message, and `criteria`
a list or an object of texts or of objects with `criteria_content`.
"""

from __future__ import annotations

from typing import Any

from truebench_hf.benchmarks.rubric_eval.item import Item
from truebench_hf.data.rows import Record
from truebench_hf.loaders.sources.common import source_item
from truebench_hf.types import Criterion, Message


def parse(record: Record) -> list[Item]:
    """All turns of a dialogue."""
    messages = [message for message in record.messages("messages") if message.role != "system"]
    roles = [message.role for message in messages]
    if roles != ["user", "assistant"] * (len(roles) // 2):
        raise record.wrong("messages", "must be user and assistant in turn, the reference answer last")
    asked = messages[::2]
    infos = _infos(record, asked)
    history = [Message("system", record.text("system_prompt"))]
    found = []
    for number, (user, answer, info) in enumerate(zip(asked, messages[1::2], infos, strict=True), 1):
        history.append(user)
        facts = {"system_id": record.id("system_id"), "turn": number, "alignment": info.row.get("alignment")}
        found.append(
            source_item(
                f"sysbench-{record.id('system_id')}-{number}", "SysBench", "system", "ZH", history,
                _criteria(info), example=answer.content, facts=facts,
            )
        )  # fmt: skip
        history.append(answer)
    return found


def _infos(record: Record, asked: list[Message]) -> list[Record]:
    """One `prompt_infos` entry per turn."""
    infos = record.decoded("prompt_infos")
    if isinstance(infos, dict):
        infos = [infos.get(message.content) for message in asked]
    if not isinstance(infos, list) or len(infos) != len(asked):
        raise record.wrong("prompt_infos", f"must have one entry for each of the {len(asked)} user messages")
    return [record.part("prompt_infos", number, info) for number, info in enumerate(infos)]


def _criteria(info: Record) -> tuple[Criterion, ...]:
    given: Any = info.decoded("criteria")
    values = list(given.values()) if isinstance(given, dict) else given
    if not isinstance(values, list) or not values:
        raise info.wrong("criteria", "must be a list or an object that is not empty")
    return tuple(_criterion(info, number, value) for number, value in enumerate(values))


def _criterion(info: Record, number: int, value: Any) -> Criterion:
    if isinstance(value, str) and value.strip():
        return Criterion(value)
    part = info.part("criteria", number, value)
    return Criterion(part.text("criteria_content"), part.maybe("criteria_type"))
