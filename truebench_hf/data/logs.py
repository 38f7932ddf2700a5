"""Logs of conversations as answers to be judged: what was said last, or each answer, with what was said before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from truebench_hf.data import instances, row_files
from truebench_hf.data.case import as_answered
from truebench_hf.data.chats import Chat, apart, chat_of, joined, of_server
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
    made: list[_Conversation] = []
    reasons: dict[str, list[str]] = {}
    check_path(path)
    rows = row_files.the_one(row_files.splits(str(path), flag="--logs"), f"--logs {path}", every=True)
    for number, entry in enumerate(joined(rows.entries()), 1):
        if isinstance(entry, UserError):
            reasons.setdefault("that cannot be read", []).append(f"{path}, row {number}")
            continue
        for record in apart(entry):
            try:
                made.append(_conversation(record, criteria, turns, separator))
            except _NoAnswer as error:
                reasons.setdefault(str(error), []).append(record.where)
    models = list(dict.fromkeys(one.model for one in made if one.model))
    if len(models) > 1 and model_name in models:
        reasons["of other models"] = [one.where for one in made if one.model != model_name]
        made = [one for one in made if one.model == model_name]
    summary = _summary(path, made, reasons, turns)
    if not made:
        raise UserError(
            f"--logs {summary}; give rows of messages that end with the assistant, or of input and output (of a batch a "
            "folder with the files of requests and of results)"
        )
    unjudged = [one.instance.id for one in made if not all(turn.criteria for turn in one.instance.turns)]
    if judged and unjudged:
        raise UserError(
            f"--logs {path}: conversation {unjudged[0]} has no criteria; give them to all by --criteria FILE"
        )
    if model_name is None and len(models) > 1:
        names = ", ".join(models[:5])
        raise UserError(
            f"--logs {path}: holds answers of {names}; say by --model-name which are meant, or what they are called together"
        )
    left_out = tuple(f"{where}, {kind}" for kind, places in reasons.items() for where in places)
    model = model_name or (models[0] if models else path.name.split(".")[0])
    return Logs(_samples(made, model), summary, left_out)


class _NoAnswer(Exception):
    """A row that is left out, and why."""


class _Conversation(NamedTuple):
    """The instance of a row, the answers to its turns, the model named there, and what of the row is no text."""

    where: str
    instance: Instance
    answers: list[str]
    model: str
    left_out: Counter[str]


def _conversation(record: Record, criteria: Sequence[Criterion], turns: str, separator: str) -> _Conversation:
    chat = chat_of(record.row)
    skipped = Counter(chat.left_out)
    system, spoken = _system(chat)
    messages = _alternating(spoken, skipped)
    if not messages:
        raise _NoAnswer("without messages")
    if messages[-1].role != "assistant":
        raise _NoAnswer("without an answer at the end")
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    if not asked:
        raise _NoAnswer("without a message of the user")
    first = asked[-1] if turns == "last" else asked[0]
    pairs = messages[first:]
    row = {fold(name): value for name, value in record.row.items()}
    named = next((name for name in instances.CRITERIA if row.get(name)), None)
    own = (*(instances.criteria_of(record, named, row[named], separator) if named else ()), *criteria)
    language, category, task = (str(row[name]) if isinstance(row.get(name), str) else "" for name in _NAMES)
    ids = (name for name in _IDS if row.get(name) not in (None, "") and not of_server(row[name]))
    name = next((Record(record.where, row).id(name) for name in ids), "")
    asked_now = tuple(Turn(message.content, own) for message in pairs[::2])
    instance = Instance(name, language, category, task, asked_now, system, None, tuple(messages[:first]))
    instance = instance if instance.id else replace(instance, id=instances.content_id(instance))
    return _Conversation(record.where, instance, [message.content for message in pairs[1::2]], chat.model, skipped)


def _system(chat: Chat) -> tuple[str | None, list[Message]]:
    texts = [message.content for message in chat.messages if message.role == "system"]
    return "\n\n".join(texts) or None, [message for message in chat.messages if message.role != "system"]


def _alternating(messages: Iterable[Message], skipped: Counter[str]) -> list[Message]:
    """User and assistant in turn: of several messages of the user all, of several answers in a row the last."""
    found: list[Message] = []
    for message in messages:
        if found and found[-1].role == message.role == "user":
            found[-1] = Message("user", f"{found[-1].content}\n\n{message.content}")
        elif found and found[-1].role == message.role:
            skipped["earlier answers in the same turn"] += 1
            found[-1] = message
        else:
            found.append(message)
    return found


def _samples(made: Sequence[_Conversation], model: str) -> list[tuple[Instance, Response]]:
    """Responses; rows that ask the same are samples of one instance, and other rows of its id are told apart."""
    known: dict[str, Instance] = {}
    samples: Counter[str] = Counter()
    found = []
    for one in made:
        name, number = one.instance.id, 2
        while name in known and replace(one.instance, id=name) != known[name]:
            name, number = f"{one.instance.id}-{number}", number + 1
        instance = known.setdefault(name, replace(one.instance, id=name))
        samples[name] += 1
        thinking = ("",) * len(one.answers)
        response = Response(name, model, as_answered(instance, one.answers), thinking, sample=samples[name])
        found.append((instance, response))
    return found


def _summary(path: Path, made: Sequence[_Conversation], reasons: dict[str, list[str]], turns: str) -> str:
    rows = len(made) + sum(map(len, reasons.values()))
    judged = "the last answer of each is judged" if turns == "last" else "each answer is judged"
    line = f"{path}: {len(made):,} of {rows:,} rows are conversations with an answer; {judged}"
    gone = [
        f"{len(places):,} {kind} (the first: {places[0].removeprefix(f'{path}, ')})" for kind, places in reasons.items()
    ]
    line += f"; left out: {', '.join(gone)}" if gone else ""
    parts = sum((one.left_out for one in made), Counter[str]())
    rest = ", ".join(f"{number:,} {kind}" for kind, number in parts.items())
    return line + (f"; not text, and left out of conversations: {rest}" if rest else "")
