"""How answers of OpenAI-compatible servers are read: fields may be missing, null or of another type."""

from __future__ import annotations

import re
from typing import Any

from truebench_hf.engine.money import PaidTokens
from truebench_hf.engine.retry import RequestFailed, TryAgain
from truebench_hf.models.chat_template import split_thinking
from truebench_hf.models.protocol import Completion, Decision
from truebench_hf.types import Usage

_HALF = re.compile("[\ud800-\udfff]")
_BROKEN_OFF = ("error", "network_error", "abort", "insufficient_system_resource")
_FILTERED = ("content_filter", "sensitive")


def completion(answer: dict[str, Any]) -> Completion:
    """The completion in a chat answer. Raises as `check_end` does, and TryAgain where there is none."""
    if "choices" not in answer:
        raise TryAgain("the server sent an object that is no completion", "unreadable")
    choice = first_choice(answer)
    if choice is None:
        raise TryAgain("the server sent a completion without choices")
    check_end(choice)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise TryAgain("the server sent a completion without a message")
    content, part = texts(message.get("content"))
    text, thinking, unclosed = split_thinking(content or texts(message.get("refusal"))[0])
    separate = separate_thinking(message)
    reasoning = "\n".join(thought for thought in (separate, part, thinking) if thought)
    cut = unclosed or choice.get("finish_reason") == "length"
    return Completion(text, reasoning, usage(answer), cut, cached_tokens(answer))


def first_choice(answer: dict[str, Any]) -> dict[str, Any] | None:
    """The one choice of a chat answer, or of a chunk of one; None where it holds none."""
    choices = answer.get("choices")
    return choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None


def check_end(choice: dict[str, Any]) -> None:
    """See that an answer is not what a failure has left of one: raises TryAgain, or RequestFailed where filtered."""
    reason = str(choice.get("finish_reason") or "")
    if reason in _BROKEN_OFF:
        message = _object(choice.get("error")).get("message") or ""
        raise TryAgain(f"the server broke off its answer (finish_reason {reason}) {message}".rstrip())
    if reason.startswith(_FILTERED):
        raise RequestFailed(f"the server's content filter stopped the answer (finish_reason {reason})")


def texts(content: Any) -> tuple[str, str]:
    """(answer, thinking) in a message's content: a text, or a list of parts that are texts or objects with a type."""
    if not isinstance(content, list):
        # Half a character, where a limit cut an emoji: no later request could carry it.
        return (_HALF.sub("\ufffd", content) if isinstance(content, str) else ""), ""
    written, thought = "", ""
    for part in content:
        if not isinstance(part, dict):
            written += texts(part)[0]
        elif part.get("type") in ("thinking", "reasoning"):
            inner = part.get("thinking") or part.get("reasoning") or part.get("text")
            thought += "".join(texts(inner))
        else:
            written += texts(part.get("text") or part.get("refusal"))[0]
    return written, thought


def separate_thinking(message: dict[str, Any]) -> str:
    """The thinking that stands in a field of its own, under either name."""
    return texts(message.get("reasoning_content"))[0] or texts(message.get("reasoning"))[0]


def usage(answer: dict[str, Any]) -> Usage:
    """What one call has spent. A good answer is not thrown away for a bad count: its usage is unknown then."""
    spent = _object(answer.get("usage"))
    details = _object(_first(spent, "completion_tokens_details", "output_tokens_details"))
    read = _count(_first(spent, "prompt_tokens", "input_tokens"))
    written = _count(_first(spent, "completion_tokens", "output_tokens"))
    thought = _count(_first(details, "reasoning_tokens") or 0)  # part of what is written, which few servers tell apart
    return Usage(read or 0, written or 0, thought or 0, 1, int(None in (read, written, thought)))


def cached_tokens(answer: dict[str, Any]) -> int:
    """How many tokens of the input of one call the server took from its cache; 0 where it does not tell."""
    spent = _object(answer.get("usage"))
    details = _object(_first(spent, "prompt_tokens_details", "input_tokens_details"))
    cached = _count(_first(details, "cached_tokens") or spent.get("prompt_cache_hit_tokens") or 0)
    return min(cached or 0, usage(answer).input_tokens)


def paid_tokens(answer: dict[str, Any]) -> PaidTokens | None:
    """The tokens that one call is billed for by what its answer says, whether it can be used or not; None where it says none."""
    spent = usage(answer)
    tokens = PaidTokens(spent.input_tokens, spent.output_tokens, cached_tokens(answer), 1, spent.unknown_calls)
    return tokens if tokens.input or tokens.output else None


def decision(answer: dict[str, Any], *, kind: str, count: int) -> Decision:
    """The decision in an answer to `count` questions. Raises TryAgain where it answers none of them."""
    answers = by_name = answer.get("answers")
    if kind == "decisions":  # by name, not by place: a server that leaves one out must not shift the others
        items = [item for item in answers if isinstance(item, dict)] if isinstance(answers, list) else []
        by_name = {str(item.get("name")): item for item in items}
    names = [question_name(i) for i in range(count)]
    if not isinstance(by_name, dict) or not by_name.keys() & set(names):
        raise TryAgain("the server sent no answers", "fault" if answers else "unreadable")
    key = "noul" if kind == "systemone" else "probability"
    shares: list[float | None] = []
    for name in names:
        value: Any = _object(by_name.get(name)).get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        shares.append(float(value) if is_number and 0.0 <= value <= 1.0 else None)
    return Decision(tuple(shares), usage(answer))


def question_name(place: int) -> str:
    """The name by which a question is asked and answered."""
    return f"criteria_{place + 1}"


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _first(values: dict[str, Any], *names: str) -> Any:
    return next((values[name] for name in names if values.get(name) is not None), None)


def _count(value: Any) -> int | None:
    """A number of tokens, which some servers send as a text; None for what is none."""
    if isinstance(value, str) and re.fullmatch(r"\d{1,15}", value.strip(), re.ASCII):
        value = int(value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < 1e15 and value == int(value) else None
