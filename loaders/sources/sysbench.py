"""SysBench: five-turn Chinese dialogues under a system prompt (system_benchmark_eval_datas.json).

One source per turn, with the reference answers of the turns before it as history. The documentation does not fix
every container, so `prompt_infos` may be a list in the order of the turns or an object by user message, and `criteria`
a list or an object of texts or of objects with `criteria_content`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from truebench_hf.loaders.sources.common import RubricSource, by_id
from truebench_hf.loaders.sources.kept import Kept, kept
from truebench_hf.rows import Record
from truebench_hf.types import Criterion, Message


def read(path: Path, strict: bool = False) -> Kept[RubricSource]:
    """All turns of all dialogues."""
    return kept(path, _turns, key=by_id, strict=strict)


def _turns(record: Record) -> list[RubricSource]:
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
        meta = {"system_id": record.id("system_id"), "turn": number, "alignment": info.row.get("alignment")}
        found.append(
            RubricSource(
                f"sysbench-{record.id('system_id')}-{number}", "SysBench", "system", "ZH", tuple(history),
                _criteria(info), reference=answer.content, meta=meta,
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
