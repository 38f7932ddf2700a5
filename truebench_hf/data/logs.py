"""Logs of conversations as answers to be judged: what was said last, or each answer, with what was said before.

Conversations stand in logs as many tools keep them; which of them keeps what where is told by `log_forms.yaml`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from truebench_hf.data import instances, jsonl, row_files
from truebench_hf.data.judged import as_answered
from truebench_hf.data.row_formats import Entry, check_path
from truebench_hf.data.rows import Record, fold, holds, words
from truebench_hf.errors import UserError, unknown
from truebench_hf.types import Criterion, Instance, Message, Response, Role, Turn

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
    check_path(path)
    rows = row_files.the_one(row_files.splits(str(path), flag="--logs"), f"--logs {path}", together=True)
    conversations, reasons = list[_Conversation](), dict[str, list[str]]()
    for number, entry in enumerate(joined(rows.entries()), 1):
        if isinstance(entry, UserError):
            reasons.setdefault("that cannot be read", []).append(f"{path}, row {number}")
        elif isinstance(read := _conversation(entry, criteria, turns, separator), str):
            reasons.setdefault(read, []).append(entry.where)
        else:
            conversations.append(read)
    models = list(dict.fromkeys(held.model for held in conversations if held.model))
    if len(models) > 1 and model_name in models:
        reasons["of other models"] = [held.where for held in conversations if held.model != model_name]
        conversations = [held for held in conversations if held.model == model_name]
    summary = _summary(path, conversations, reasons, turns)
    if not conversations:
        remedy = "give rows of messages that end with the assistant, or of input and output"
        raise UserError(f"--logs {summary}; {remedy} (of a batch a folder with the files of requests and of results)")
    for held in conversations if judged else ():
        if not all(turn.criteria for turn in held.instance.turns):
            why = f"conversation {held.instance.id} has no criteria; give them to all by --criteria FILE"
            raise UserError(f"--logs {path}: {why}")
    if model_name is None and len(models) > 1:
        remedy = "say by --model-name which are meant, or what they are called together"
        raise UserError(f"--logs {path}: holds answers of {', '.join(models[:5])}; {remedy}")
    left_out = tuple(f"{where}, {kind}" for kind, places in reasons.items() for where in places)
    model = model_name or next(iter(models), path.name.split(".")[0])
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
    system = "\n\n".join(message.content for message in chat.messages if message.role == "system") or None
    asks = tuple(Turn(message.content, own) for message in messages[first::2])
    own_id = id_in(row, _IDS)
    name = Record(record.where, {"id": own_id}).id("id") if own_id else ""
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
        names = chain([held.instance.id], (f"{held.instance.id}-{number}" for number in count(2)))
        instances_by_name = (replace(held.instance, id=name) for name in names)
        instance = next(own for own in instances_by_name if known.setdefault(own.id, own) == own)
        samples[instance.id] += 1
        messages, thinking = as_answered(instance, held.answers), ("",) * len(held.answers)
        answered.append((instance, Response(instance.id, model, messages, thinking, sample=samples[instance.id])))
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


@dataclass
class Chat:
    """Messages in their order, by kind how much of them is no text ("tool messages": 2), and the model, "" if untold."""

    messages: list[Message] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    model: str = ""

    def add(self, role: Role, text: str) -> None:
        if text.strip():
            self.messages.append(Message(role, text))

    def take(self, other: Chat) -> None:
        self.messages += other.messages
        self.left_out += other.left_out


def chat_of(row: Mapping[str, Any]) -> Chat:
    """The conversation of a row of a log: what went in, and what came out; empty where there is none."""
    row = _nested(row)
    if isinstance(tree := row.get("mapping"), Mapping):
        row |= _branch(tree, row.get("current_node"))
    chat = _object(row, "user", "asked")
    if not chat.messages or chat.messages[-1].role != "assistant":
        answer = _first(row, "assistant", "answered")
        if any(message.role == "user" for message in answer.messages):  # the whole conversation once more
            chat = answer
        else:
            chat.take(answer)
    models = [*_at(row, "model"), *(row.get("slugs") or ())]
    chat.model = next((name for name in models if isinstance(name, str) and name.strip()), "")
    return chat


def joined(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Requests and results of a batch, which stand in two files, in one row each; all other rows as they are."""
    waiting: dict[tuple[str, str], Record] = {}
    for entry in entries:
        row = entry.row if isinstance(entry, Record) else {}
        key = next((name for name in words("joined") if isinstance(row.get(name), str)), "")
        if not isinstance(entry, Record) or not key:
            yield entry
            continue
        own = {name: value for name, value in row.items() if holds(value)}
        if (other := waiting.pop((key, row[key]), None)) is None:
            waiting[key, row[key]] = entry
        elif any(holds(other.row.get(name)) for name in own if name not in (key, "id")):  # two results, say
            waiting[key, row[key]] = entry
            yield other
        else:
            yield replace(other, row={**other.row, **own})
    yield from waiting.values()


def id_in(row: Mapping[str, Any], names: Sequence[str]) -> str | None:
    """The id in the first of some fields that holds one of the data's: OpenAI gives one of its own to each result of a
    batch, beside its `custom_id`."""
    ids = (row[name] for name in names if row.get(name) not in (None, ""))
    own = next((value for value in ids if not str(value).startswith("batch_req_")), None)
    if isinstance(own, float) and own.is_integer():  # a column of numbers with a gap in it, to pandas
        own = int(own)
    return None if own is None else str(own)


@cache
def _kinds(what: str) -> dict[str, str]:
    """What each name of a role or a part is one of."""
    return {name: kind for kind, names in words(what).items() for name in names}


def _at(value: Mapping[str, Any], what: str) -> Iterator[Any]:
    """What the paths of a slot lead to from an object under folded names, where they lead to anything."""
    for path in words(what):
        first, *way = path.split(".")
        inner = jsonl.held(value.get(first))
        for name in way:
            if isinstance(inner, list):
                inner = jsonl.held(inner[int(name)]) if name.isdecimal() and int(name) < len(inner) else None
            else:
                inner = jsonl.held(_nested(inner).get(name)) if isinstance(inner, Mapping) else None
        if inner:
            yield inner


def _first(value: Mapping[str, Any], role: Role, slot: str) -> Chat:
    """What the first path leads to that leads to any message."""
    chats = (chat_in(inner, role, slot) for inner in _at(value, slot))
    return next((chat for chat in chats if chat.messages or chat.left_out), Chat())


def chat_in(value: Any, role: Role = "user", slot: str = "answered") -> Chat:
    """The conversation in one field: a text is a message of the role, a list its messages in any of the forms, an object
    whatever form it has."""
    text, value, chat = value, jsonl.held(value), Chat()
    if isinstance(value, str):
        chat.add(role, value)
    elif isinstance(value, list):
        objects = [part for part in value if isinstance(part, Mapping) and _speaker(part) is None]
        if 0 < len(value) == sum(str(part.get("type")) in _kinds("parts") for part in objects):
            chat.add(role, _text(value, chat.left_out))
        else:
            for entry in value:
                chat.take(chat_in(entry, role, slot))
    elif isinstance(value, Mapping):
        chat = _of_object(_nested(value), role, slot)
    if isinstance(text, str) and not chat.messages and not chat.left_out:  # JSON that is no conversation is a text
        chat.add(role, text)
    return chat


def _of_object(value: dict[str, Any], role: Role, slot: str) -> Chat:
    chat, kind = Chat(), str(value.get("type"))
    inner = value.get("kwargs") or value.get("data")
    if isinstance(inner, Mapping) and "content" in inner and "type" in value:  # a message of LangChain
        name = (value.get("id") or [""])[-1] if value["type"] == "constructor" else value["type"]
        return _of_object({"role": inner.get("role") or inner.get("type") or str(name), **inner}, role, slot)
    if (speaker := _speaker(value)) is not None:
        label = _kinds("roles").get(speaker, f"messages by {speaker!r}")
        if label in ("system", "user", "assistant"):
            chat.left_out["tool calls"] += bool(value.get("tool_calls") or value.get("function_call"))
            content = next((value[name] for name in words("content") if value.get(name) is not None), "")
            chat.add(label, _text(content, chat.left_out))  # type: ignore[arg-type]
        else:
            chat.left_out[label] += 1
    elif (item := _kinds("roles").get(kind, _kinds("parts").get(kind, "text"))) != "text":
        chat.left_out[item] += bool(item)  # an item of OpenAI's responses that is no message: a tool's call, say
    else:
        chat = _object(value, role, slot)
        texts = [text for name, text in value.items() if isinstance(text, str) and name != "type"]
        if not chat.messages and len(texts) == 1 and "error" not in value:  # a field by a name of one's own
            chat.add(role, texts[0])
    chat.left_out = +chat.left_out
    return chat


def _object(value: Mapping[str, Any], role: Role, slot: str) -> Chat:
    """The conversation in an object that is no message, with its system message where that stands beside it."""
    lists = (
        chat_in(value[name], role, slot) for name in words("lists") if isinstance(jsonl.held(value.get(name)), list)
    )
    chat = next((inner for inner in lists if inner.messages or inner.left_out), None)
    chat = chat or _first(value, "assistant" if slot == "answered" else role, slot)
    if slot == "asked" and chat.messages and not any(message.role == "system" for message in chat.messages):
        systems = (chat_in(inner, "system", "content").messages for inner in _at(value, "system"))
        first = next((messages for messages in systems if messages), [])
        chat.messages = [Message("system", message.content) for message in first] + chat.messages
    return chat


def _branch(tree: Mapping[str, Any], last: Any) -> dict[str, Any]:
    """The messages of ChatGPT's export up to the last one, on its branch of the tree, and the models that it names.

    What the export hides is left out, and what is said to a tool is a call of it.
    """
    messages: list[Any] = []
    models: list[Any] = []
    for _ in tree:
        node = tree.get(last)
        if not isinstance(node, Mapping):
            break
        message, last = node.get("message"), node.get("parent")
        facts = (message or {}).get("metadata") or {}
        if message and not facts.get("is_visually_hidden_from_conversation"):
            call = {"role": "assistant", "content": "", "tool_calls": True}
            messages.append(message if message.get("recipient") in (None, "all") else call)
            models.append(facts.get("model_slug"))
    return {"messages": messages[::-1], "slugs": models}


def _speaker(value: Mapping[str, Any]) -> str | None:
    """Who says a message, None where an object is none."""
    if not any(name in value for name in words("content")):
        return None
    for name in words("speaker"):
        speaker = value.get(name)
        if isinstance(speaker, Mapping):  # OpenAI's export: {"role": ...}
            speaker = speaker.get("role")
        if isinstance(speaker, str) and (name != "type" or fold(speaker) in _kinds("roles")):
            return fold(speaker)
    return None


def _text(content: Any, left_out: Counter[str]) -> str:
    """The text of a message; parts that are none are counted, but for thinking."""
    if isinstance(content, str):
        return content
    parts = content.get("parts", [content]) if isinstance(content, Mapping) else content
    texts = []
    for part in parts if isinstance(parts, list) else []:
        part = {"text": part} if isinstance(part, str) else _nested(part) if isinstance(part, Mapping) else {}
        part = part.get("message_content", part)
        kind = str(part.get("type") or part.get("content_type") or next(iter(part), "text"))
        text = next((part[name] for name in ("text", "content") if isinstance(part.get(name), str)), None)
        label = _kinds("parts").get(kind, f"parts of type {kind[:30]!r}")
        if label == "text" and text is not None and not part.get("thought"):
            texts.append(text)
        elif label not in ("", "text"):
            left_out[label] += 1
    return "\n".join(texts)


def _nested(value: Mapping[str, Any]) -> dict[str, Any]:
    """An object under folded names; those with dots are objects in objects, lists where the names are numbers."""
    flat = {fold(name): inner for name, inner in value.items()}
    dotted = [name for name in flat if "." in name]
    for name in dotted:
        place, inner = flat, flat.pop(name)
        *before, last = name.split(".")
        for part in before:
            held = jsonl.held(place.get(part))
            place[part] = dict(held) if isinstance(held, Mapping) else {}
            place = place[part]
        place[last] = inner
    return {name: _listed(inner) for name, inner in flat.items()} if dotted else flat


def _listed(value: Any) -> Any:
    if not isinstance(value, dict) or not value:
        return value
    inner = {name: _listed(part) for name, part in value.items()}
    return [inner[name] for name in sorted(inner, key=int)] if all(map(str.isdecimal, inner)) else inner
