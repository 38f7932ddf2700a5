"""Conversations about one instruction: simulated ones in their place in the folder of a benchmark, or people's logs.

DIR/procedure.yaml                                the instruction and its dimensions
DIR/corpora/SEED/MODEL/conversations.jsonl        what `truebench flex simulate` wrote
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.data import row_files
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.types import Message

CONVERSATIONS = "conversations.jsonl"
ENDS = ("user", "assistant", "limit")  # who or what ended a conversation
_ROLES = {"user": "user", "human": "user", "customer": "user", "assistant": "assistant", "ai": "assistant", "gpt": "assistant",
          "bot": "assistant", "agent": "assistant"}  # fmt: skip


@dataclass(frozen=True)
class Talk:
    """One conversation: whose it is, how its user was, and why it ended; "" where nobody says.

    `end` is who or what ended it, and `ended` how that was found; `error`: it broke off.
    """

    id: str
    model: str
    messages: tuple[Message, ...]
    cooperativeness: str = ""
    end: str = ""
    seed: str = ""
    error: str = ""
    ended: str = ""


def as_row(talk: Talk) -> dict[str, Any]:
    """A talk as a line of `conversations.jsonl`."""
    messages = [{"role": message.role, "content": message.content} for message in talk.messages]
    names = ("id", "model", "cooperativeness", "end", "ended", "seed", "error")
    return {name: getattr(talk, name) for name in names} | {"messages": messages}


def read_talks(path: Path, model: str = "") -> list[Talk]:
    """The conversations of a file of rows: `messages` (or `conversations`, with roles of other names), and what there is
    of id, model, cooperativeness, end and seed. System messages are left out. Raises UserError naming row and field.

    `model` is whose they are where the rows do not say.
    """
    found = [_talk(record, number, model) for number, record in enumerate(row_files.records(path), 1)]
    keys = [(talk.model, talk.seed, talk.id) for talk in found]
    often = Counter(keys)
    for talk, key in zip(found, keys, strict=True):
        if often[key] > 1:
            raise UserError(f"{path}: conversation {talk.id} of {talk.model or 'one model'} stands twice")
    return found


def _talk(record: Record, number: int, model: str) -> Talk:
    name = next((n for n in ("messages", "conversations", "conversation", "dialogue") if record.row.get(n)), "messages")
    messages = []
    told = {key: _text(record.row.get(key)) for key in ("cooperativeness", "end", "seed", "error", "ended")}
    # One that broke off before its first message has none.
    for part in [] if told["error"] and record.row.get(name) == [] else record.parts(name):
        role = str(part.row.get("role", part.row.get("from", ""))).strip().lower()
        text = part.row.get("content", part.row.get("value"))
        if role == "system":
            continue
        if role not in _ROLES:
            raise part.wrong("role", f"is {role!r}, which is none of {', '.join(_ROLES)}")
        if not isinstance(text, str):
            raise part.wrong("content", "must be a text")
        messages.append(Message(_ROLES[role], text))  # type: ignore[arg-type]
    own = record.id("id") if record.row.get("id") is not None else str(number)
    return Talk(own, str(record.row.get("model") or model), tuple(messages), **told)


def _text(value: Any) -> str:
    """A value as text; a seed may be the number 0."""
    return "" if value is None else str(value)


def corpus_folder(folder: Path, seed: int, model: str) -> Path:
    """Where the conversations of a model (its spec) with a seed stand."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", model).strip("-.")[:60]
    # Two specs may differ in what a file name cannot hold.
    return folder / "corpora" / str(seed) / (plain if plain == model else f"{plain}-{digest(model)[:6]}")


def corpora(folder: Path) -> list[Talk]:
    """All conversations below a folder, by seed and model. Raises UserError where there are none."""
    files = sorted((folder / "corpora").glob(f"*/*/{CONVERSATIONS}"))
    found = [talk for file in files for talk in read_talks(file)]
    if not found:
        raise UserError(f"{folder}: holds no corpora; `truebench flex simulate {folder}` makes them")
    return found


def by_model(talks: Iterable[Talk]) -> dict[str, list[Talk]]:
    """The conversations of each model, in the order of appearance."""
    found: dict[str, list[Talk]] = {}
    for talk in talks:
        found.setdefault(talk.model, []).append(talk)
    return found


def knowledge_of(path: str | None) -> str:
    """The text of a knowledge file, "" without one. Raises UserError where it cannot be read."""
    if path is None:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"--knowledge {path}: cannot be read: {error}") from error
