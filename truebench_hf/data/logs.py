"""Logs of conversations as answers to be judged: what was said last, or each answer, with what was said before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from truebench_hf.data import instances, row_files
from truebench_hf.data.case import as_answered
from truebench_hf.data.chats import apart, chat_of, joined, of_server
from truebench_hf.data.row_formats import check_path
from truebench_hf.data.rows import Record, fold
from truebench_hf.errors import UserError, unknown
from truebench_hf.types import Criterion, Instance, Message, Response, Turn

TURNS = ("last", "all")
_NAMES, _IDS = ("language", "category", "task"), ("id", "custom_id")


@dataclass(frozen=True)
class Logs:
    """The conversations of a log with their answers, what was read in one line, and why rows were left out."""

    answered: list[tuple[Instance, Response]]
    summary: str
    left_out: tuple[str, ...]


def read_logs(
    path: Path, criteria: Sequence[Criterion], turns: str = "last", model_name: str | None = None, separator: str = "",
    judged: bool = True,
) -> Logs:  # fmt: skip
    """The conversations of whatever `row_files` reads, each with its own criteria and those of all.

    The answer to the last message of the user is judged, and what was said before is its history; with `turns` "all"
    every answer is. A `separator` parts criteria in a cell. Equal conversations are samples of one. Rows that hold no
    answer are left out, and counted. The answers are the `model_name`'s (where rows are of several models and one is
    called so, those of it alone), else that of the rows' one model, else they are called like the file. A folder is read
    whole: the requests and the results of a batch stand in two files. Raises UserError where no row can be used, and
    where there are no criteria, unless these are yet to be written (not `judged`).
    """
    if turns not in TURNS:
        raise unknown("--turns", turns, TURNS)
    conversations: list[_Conversation] = []
    reasons: dict[str, list[str]] = {}
    check_path(path)
    rows = row_files.the_one(row_files.splits(str(path), flag="--logs"), f"--logs {path}", every=True)
    for number, entry in enumerate(joined(rows.entries()), 1):
        if isinstance(entry, UserError):
            reasons.setdefault("that cannot be read", []).append(f"{path}, row {number}")
            continue
        for record in apart(entry):
            conversation = _conversation(record, criteria, turns, separator)
            if isinstance(conversation, str):
                reasons.setdefault(conversation, []).append(record.where)
            else:
                conversations.append(conversation)
    models = list(dict.fromkeys(held.model for held in conversations if held.model))
    if len(models) > 1 and model_name in models:
        reasons["of other models"] = [held.where for held in conversations if held.model != model_name]
        conversations = [held for held in conversations if held.model == model_name]
    summary = _summary(path, conversations, reasons, turns)
    if not conversations:
        raise UserError(
            f"--logs {summary}; give rows of messages that end with the assistant, or of input and output (of a batch a "
            "folder with the files of requests and of results)"
        )
    unjudged = [held.instance.id for held in conversations if not all(turn.criteria for turn in held.instance.turns)]
    if judged and unjudged:
        remedy = "give them to all by --criteria FILE"
        raise UserError(f"--logs {path}: conversation {unjudged[0]} has no criteria; {remedy}")
    if model_name is None and len(models) > 1:
        remedy = "say by --model-name which are meant, or what they are called together"
        raise UserError(f"--logs {path}: holds answers of {', '.join(models[:5])}; {remedy}")
    left_out = tuple(f"{where}, {kind}" for kind, places in reasons.items() for where in places)
    model = model_name or (models[0] if models else path.name.split(".")[0])
    return Logs(_samples(conversations, model), summary, left_out)


class _Conversation(NamedTuple):
    """The instance of a row, the answers to its turns, the model named there, and what of the row is no text."""

    where: str
    instance: Instance
    answers: list[str]
    model: str
    left_out: Counter[str]


def _conversation(record: Record, criteria: Sequence[Criterion], turns: str, separator: str) -> _Conversation | str:
    """The conversation of a row, user and assistant in turn, or why there is none.

    Of several messages of the user in a row all are read, of several answers the last.
    """
    chat, messages = chat_of(record.row), list[Message]()
    skipped = Counter(chat.left_out)
    for message in (message for message in chat.messages if message.role != "system"):
        if not messages or messages[-1].role != message.role:
            messages.append(message)
        elif message.role == "user":
            messages[-1] = Message("user", f"{messages[-1].content}\n\n{message.content}")
        else:
            skipped["earlier answers in the same turn"] += 1
            messages[-1] = message
    if not messages:
        return "without messages"
    if messages[-1].role != "assistant":
        return "without an answer at the end"
    users = [place for place, message in enumerate(messages) if message.role == "user"]
    if not users:
        return "without a message of the user"
    first = users[-1] if turns == "last" else users[0]
    row = {fold(name): value for name, value in record.row.items()}
    named = next((name for name in instances.CRITERIA if row.get(name)), None)
    own = (*(instances.criteria_of(record, named, row[named], separator) if named else ()), *criteria)
    language, category, task = (str(row[name]) if isinstance(row.get(name), str) else "" for name in _NAMES)
    ids = (name for name in _IDS if row.get(name) not in (None, "") and not of_server(row[name]))
    name = next((Record(record.where, row).id(name) for name in ids), "")
    system = "\n\n".join(message.content for message in chat.messages if message.role == "system") or None
    asks = tuple(Turn(message.content, own) for message in messages[first::2])
    instance = Instance(name, language, category, task, asks, system, None, tuple(messages[:first]))
    instance = instance if instance.id else replace(instance, id=instances.content_id(instance))
    answers = [message.content for message in messages[first + 1 :: 2]]
    return _Conversation(record.where, instance, answers, chat.model, skipped)


def _samples(conversations: Sequence[_Conversation], model: str) -> list[tuple[Instance, Response]]:
    """Responses; rows that ask the same are samples of one instance, and other rows of its id are told apart."""
    known: dict[str, Instance] = {}
    samples: Counter[str] = Counter()
    answered = []
    for held in conversations:
        name, number = held.instance.id, 2
        while name in known and replace(held.instance, id=name) != known[name]:
            name, number = f"{held.instance.id}-{number}", number + 1
        instance = known.setdefault(name, replace(held.instance, id=name))
        samples[name] += 1
        messages, thinking = as_answered(instance, held.answers), ("",) * len(held.answers)
        answered.append((instance, Response(name, model, messages, thinking, sample=samples[name])))
    return answered


def _summary(path: Path, conversations: Sequence[_Conversation], reasons: dict[str, list[str]], turns: str) -> str:
    rows = len(conversations) + sum(map(len, reasons.values()))
    judged = "the last answer of each is judged" if turns == "last" else "each answer is judged"
    line = f"{path}: {len(conversations):,} of {rows:,} rows are conversations with an answer; {judged}"
    gone = [f"{len(held):,} {kind} (the first: {held[0].removeprefix(f'{path}, ')})" for kind, held in reasons.items()]
    line += f"; left out: {', '.join(gone)}" if gone else ""
    parts = sum((conversation.left_out for conversation in conversations), Counter[str]())
    rest = ", ".join(f"{number:,} {kind}" for kind, number in parts.items())
    return line + (f"; not text, and left out of conversations: {rest}" if rest else "")
