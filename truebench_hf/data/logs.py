"""Logs of conversations as answers to be judged: what was said last, or each answer, with what was said before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from truebench_hf.data import instances, row_files
from truebench_hf.data.chats import Chat, chat_of
from truebench_hf.data.row_formats import check_path
from truebench_hf.data.rows import Record, fold
from truebench_hf.errors import UserError, unknown
from truebench_hf.types import Criterion, Instance, Message, Response, Turn

TURNS = ("last", "all")
_MODELS, _NAMES = ("model", "model_name", "deployment"), ("language", "category", "task")


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
    answer are left out, and counted. The answers are the `model_name`'s, else that of the rows' one model, else they
    are called like the file. Raises UserError where no row can be used, and where there are no criteria, unless these are
    yet to be written (not `judged`).
    """
    if turns not in TURNS:
        raise unknown("--turns", turns, TURNS)
    made: list[tuple[Instance, list[str], str]] = []
    reasons: dict[str, list[str]] = {}
    parts: Counter[str] = Counter()
    check_path(path)
    rows = row_files.the_one(row_files.splits(str(path), flag="--logs"), f"--logs {path}")
    for number, entry in enumerate(rows.entries(), 1):
        try:
            if isinstance(entry, UserError):
                raise _NoAnswer("that cannot be read", f"{path}, row {number}") from entry
            instance, answers, model, skipped = _conversation(entry, criteria, turns, separator)
        except _NoAnswer as error:
            reasons.setdefault(error.kind, []).append(error.where)
            continue
        parts += skipped
        made.append((instance, answers, model))
    summary = _summary(path, made, reasons, parts, turns)
    if not made:
        raise UserError(f"--logs {summary}; give rows of messages that end with the assistant, or of input and output")
    if judged and (unjudged := [i.id for i, _, _ in made if not all(turn.criteria for turn in i.turns)]):
        raise UserError(
            f"--logs {path}: conversation {unjudged[0]} has no criteria; give them to all by --criteria FILE"
        )
    left_out = tuple(f"{where}, {kind}" for kind, places in reasons.items() for where in places)
    return Logs(_samples(made, _named(path, model_name, [model for _, _, model in made])), summary, left_out)


class _NoAnswer(Exception):
    def __init__(self, kind: str, where: str) -> None:
        super().__init__(kind)
        self.kind, self.where = kind, where


def _conversation(
    record: Record, criteria: Sequence[Criterion], turns: str, separator: str
) -> tuple[Instance, list[str], str, Counter[str]]:
    """The instance of a row, the answers to its turns, the model named there, and what of the row is no text."""
    chat = chat_of(record.row)
    skipped = Counter(chat.left_out)
    system, spoken = _system(chat)
    messages = _alternating(spoken, skipped)
    if not messages:
        raise _NoAnswer("without messages", record.where)
    if messages[-1].role != "assistant":
        raise _NoAnswer("without an answer at the end", record.where)
    asked = [place for place, message in enumerate(messages) if message.role == "user"]
    if not asked:
        raise _NoAnswer("without a message of the user", record.where)
    first = asked[-1] if turns == "last" else asked[0]
    pairs = messages[first:]
    row = {fold(name): value for name, value in record.row.items()}
    named = next((name for name in instances.CRITERIA if row.get(name)), None)
    own = (*(instances.criteria_of(record, named, row[named], separator) if named else ()), *criteria)
    language, category, task = (str(row[name]) if isinstance(row.get(name), str) else "" for name in _NAMES)
    name = "" if row.get("id") in (None, "") else record.id(_name_of(record, "id"))
    asked_now = tuple(Turn(message.content, own) for message in pairs[::2])
    instance = Instance(name, language, category, task, asked_now, system, None, tuple(messages[:first]))
    instance = instance if instance.id else replace(instance, id=instances.content_id(instance))
    model = next((row[name] for name in _MODELS if isinstance(row.get(name), str) and row[name].strip()), "")
    return instance, [message.content for message in pairs[1::2]], model, skipped


def _name_of(record: Record, ours: str) -> str:
    return next(str(name) for name in record.row if fold(name) == ours)


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


def _named(path: Path, model_name: str | None, models: Sequence[str]) -> str:
    names = list(dict.fromkeys(filter(None, models)))
    if model_name is None and len(names) > 1:
        raise UserError(
            f"--logs {path}: holds answers of {', '.join(names[:5])}; say by --model-name what they are called together"
        )
    return model_name or (names[0] if names else path.name.split(".")[0])


def _samples(made: Sequence[tuple[Instance, list[str], str]], model: str) -> list[tuple[Instance, Response]]:
    """Responses; rows that ask the same are samples of one instance, and other rows of its id are told apart."""
    known: dict[str, Instance] = {}
    samples: Counter[str] = Counter()
    found = []
    for instance, answers, _ in made:
        name, number = instance.id, 2
        while name in known and replace(instance, id=name) != known[name]:
            name, number = f"{instance.id}-{number}", number + 1
        instance = known.setdefault(name, replace(instance, id=name))
        samples[name] += 1
        system = [Message("system", instance.system)] if instance.system else []
        spoken = [
            Message(role, text)  # type: ignore[arg-type]
            for turn, answer in zip(instance.turns, answers, strict=True)
            for role, text in (("user", turn.prompt), ("assistant", answer))
        ]
        found.append((instance, Response(name, model, (*system, *spoken), ("",) * len(answers), sample=samples[name])))
    return found


def _summary(path: Path, made: Sequence[object], reasons: dict[str, list[str]], parts: Counter[str], turns: str) -> str:
    rows = len(made) + sum(map(len, reasons.values()))
    judged = "the last answer of each is judged" if turns == "last" else "each answer is judged"
    line = f"{path}: {len(made):,} of {rows:,} rows are conversations with an answer; {judged}"
    gone = [
        f"{len(places):,} {kind} (the first: {places[0].removeprefix(f'{path}, ')})" for kind, places in reasons.items()
    ]
    line += f"; left out: {', '.join(gone)}" if gone else ""
    rest = ", ".join(f"{number:,} {kind}" for kind, number in parts.items())
    return line + (f"; not text, and left out of conversations: {rest}" if rest else "")
