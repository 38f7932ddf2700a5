"""Conversations as logs and tools keep them: OpenAI's and Anthropic's messages, ShareGPT, LangChain, LangSmith, Langfuse."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from truebench_hf.data import jsonl
from truebench_hf.data.headers import ANSWERED, ASKED
from truebench_hf.data.rows import fold
from truebench_hf.types import Message, Role

_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "human": "user", "customer": "user",
    "assistant": "assistant", "ai": "assistant", "gpt": "assistant", "bot": "assistant", "model": "assistant",
    "chatgpt": "assistant", "bard": "assistant", "humanmessage": "user", "aimessage": "assistant",
    "aimessagechunk": "assistant", "systemmessage": "system", "chatmessage": "assistant",
}  # fmt: skip
_ROLE_NAMES, _CONTENT_NAMES = ("role", "from", "type", "sender", "author"), ("content", "value", "text", "parts")
_LISTS = ("messages", "conversations", "conversation", "chat", "chat_messages", "dialogue", "turns")
_ASKED = (*ASKED, "text")
_ANSWERED = (*ANSWERED, "choices", "generations", "message", "content", "text")
_TEXT_PARTS = ("text", "input_text", "output_text")


@dataclass
class Chat:
    """Messages in their order, and by kind how much of them is no text ("tool messages": 2)."""

    messages: list[Message] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, role: Role, text: str) -> None:
        if text.strip():
            self.messages.append(Message(role, text))

    def take(self, other: Chat) -> None:
        self.messages += other.messages
        self.left_out += other.left_out


def chat_of(row: Mapping[str, Any]) -> Chat:
    """The conversation of a row of a log: what went in, and what came out; empty where there is none."""
    row = {fold(name): _decoded(value) for name, value in row.items()}
    chat = Chat()
    if whole := next((row[name] for name in _LISTS if isinstance(row.get(name), list) and row[name]), None):
        _read_into(chat, whole, "user")
    else:
        asked = next((row[name] for name in _ASKED if row.get(name)), None)
        _read_into(chat, asked, "user", _ASKED)
    if row.get("system") and not any(message.role == "system" for message in chat.messages):
        system = Chat()
        _read_into(system, row["system"], "system")
        chat.messages = system.messages + chat.messages
    if not chat.messages or chat.messages[-1].role != "assistant":
        said = Chat()
        answered = next((row[name] for name in _ANSWERED if row.get(name) and name not in _LISTS), None)
        _read_into(said, answered, "assistant", _ANSWERED)
        if any(message.role == "user" for message in said.messages):  # the whole conversation once more
            chat = said
        else:
            chat.take(said)
    return chat


def chat_of_messages(value: Any) -> Chat:
    """A conversation that stands in one field: a list of messages in any of the forms."""
    chat = Chat()
    _read_into(chat, _decoded(value), "user")
    return chat


def _read_into(chat: Chat, value: Any, role: Role, names: tuple[str, ...] = ()) -> None:
    """Add what a value holds: a text is a message of the role, a list its messages, an object whatever form it has."""
    value = _decoded(value)
    if isinstance(value, str):
        chat.add(role, value)
    elif isinstance(value, list) and value and all(_is_part(part) for part in value):
        chat.add(role, _text(value, chat.left_out))
    elif isinstance(value, list):
        for entry in value:
            _read_into(chat, entry, role, names)
    elif isinstance(value, Mapping):
        _read_object(chat, {fold(name): inner for name, inner in value.items()}, role, names)


def _read_object(chat: Chat, value: dict[str, Any], role: Role, names: tuple[str, ...]) -> None:
    if isinstance(inner := value.get("kwargs") or value.get("data"), Mapping) and "content" in inner:  # LangChain's
        kind = (
            str(value.get("type") or "") if value.get("type") != "constructor" else str((value.get("id") or [""])[-1])
        )
        _read_object(chat, {"role": inner.get("role") or inner.get("type") or kind, **inner}, role, names)
    elif (speaker := _speaker(value)) is not None:
        content = next((value[name] for name in _CONTENT_NAMES if value.get(name) is not None), "")
        known = _ROLES.get(speaker)
        if known is None:
            chat.left_out["tool messages" if speaker in _TOOLS else f"messages by {speaker!r}"] += 1
        else:
            if value.get("tool_calls") or value.get("function_call"):
                chat.left_out["tool calls"] += 1
            chat.add(known, _text(content, chat.left_out))
    elif str(value.get("type")) in {*_PARTS, *_TOOLS}:  # an item of OpenAI's responses that is no message
        item = str(value["type"])
        if label := _PARTS.get(item, "tool calls" if item == "function_call" else "tool messages"):
            chat.left_out[label] += 1
    elif isinstance(value.get("choices"), list):  # OpenAI's answer: the first choice counts
        first = value["choices"][0] if value["choices"] else {}
        _read_into(
            chat, first.get("message") or first.get("text") if isinstance(first, Mapping) else first, "assistant"
        )
    elif "generations" in value:
        generation = next(iter(_leaves(value["generations"])), {})
        _read_into(chat, generation.get("text") or generation.get("message"), "assistant")
    elif whole := next((value[name] for name in _LISTS if isinstance(value.get(name), list)), None):
        if value.get("system"):
            _read_into(chat, value["system"], "system")
        _read_into(chat, whole, role)
    elif (name := next((name for name in names if value.get(name)), None)) is not None:
        _read_into(chat, value[name], role, names)
    elif len(texts := [text for text in value.values() if isinstance(text, str)]) == 1:
        chat.add(role, texts[0])


_TOOLS = (
    "tool",
    "function",
    "toolmessage",
    "functionmessage",
    "observation",
    "function_call",
    "function_call_output",
    "function_response",
)


def _speaker(value: Mapping[str, Any]) -> str | None:
    """Who says a message, None where an object is none."""
    if not any(name in value for name in _CONTENT_NAMES):
        return None
    for name in _ROLE_NAMES:
        speaker = value.get(name)
        if isinstance(speaker, Mapping):  # OpenAI's export: {"role": ...}
            speaker = speaker.get("role")
        if isinstance(speaker, str) and (name != "type" or fold(speaker) in (*_ROLES, *_TOOLS)):
            return fold(speaker)
    return None


def _is_part(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str) and _speaker(value) is None and (
        value["type"] in (*_TEXT_PARTS, *_PARTS)
    )  # fmt: skip


_PARTS = {
    "image": "images", "image_url": "images", "input_image": "images", "audio": "recordings", "input_audio": "recordings",
    "file": "files", "document": "files", "tool_use": "tool calls", "tool_call": "tool calls",
    "tool_result": "tool results", "thinking": "", "reasoning": "", "redacted_thinking": "",
}  # fmt: skip


def _text(content: Any, left_out: Counter[str]) -> str:
    """The text of a message; parts that are none are counted, but for thinking."""
    if isinstance(content, str):
        return content
    parts = content.get("parts", [content]) if isinstance(content, Mapping) else content
    texts = []
    for part in parts if isinstance(parts, list) else []:
        kind = part.get("type", "text") if isinstance(part, Mapping) else "text"
        text = part.get("text") if isinstance(part, Mapping) else part
        if kind in _TEXT_PARTS and isinstance(text, str):
            texts.append(text)
        elif label := _PARTS.get(str(kind), f"parts of type {str(kind)[:30]!r}"):
            left_out[label] += 1
    return "\n".join(texts)


def _leaves(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner)


def _decoded(value: Any) -> Any:
    """A text that holds a JSON object or list, as a cell of a table does, as what it holds."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        held = jsonl.maybe(value)
        return value if held is None else held
    return value
