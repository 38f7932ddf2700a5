"""Judging an answer as a whole: response level, and the SimpleQA-like template with its third label."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from truebench_hf.judging.choice import Choice, read_choice
from truebench_hf.models.asking import Problem
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.types import Message

ACCURATE: Mapping[str, bool] = {"accurate": True, "inaccurate": False}
KEY = "verdict"


def choice_request(text: str, words: Mapping[str, Any], structured: bool, sampling: Sampling) -> ChatRequest:
    """A request for one of `words` under the key `verdict`."""
    reason = "The response claims this, and the document says so in its second part. " * 9
    verdict = next(iter(words))
    plain = f'{reason}\n```json\n{{"verdict": "{verdict}"}}\n```'
    example = f'{{"reason": "{reason}", "verdict": "{verdict}"}}' if structured else plain
    fields = {"reason": {"type": "string"}, KEY: {"type": "string", "enum": list(words)}}
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return ChatRequest((Message("user", text),), sampling, schema=schema if structured else None, example=example)


def read_verdict(text: str, words: Mapping[str, Any]) -> Choice[Any] | Problem:
    """The value of the one word that an answer states under the key `verdict`."""
    return read_choice(text, KEY, words)


def again(problem: str, words: Mapping[str, Any]) -> str:
    """The message that asks again for one of `words`."""
    return (
        f"Your answer cannot be used: {problem}. Decide again, in the form asked for above, and give the verdict once: "
        f"{' or '.join(words)}, under the key `{KEY}` of one JSON object at the end."
    )
