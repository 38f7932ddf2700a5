"""Asking the builder for JSON, repaired by a library, and again where the program finds fault with what it says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from truebench_hf.models.asking import CUT_OFF, Problem, ask
from truebench_hf.models.caller import Caller
from truebench_hf.models.protocol import ChatRequest, Sampling
from truebench_hf.prompts import Prompts
from truebench_hf.types import Message

T = TypeVar("T")
WARMER = 0.2  # by how much the temperature rises from one try to the next (appendix B.5)
_MOST = 12  # findings told to the builder at once


async def ask_json(
    caller: Caller, prompts: Prompts, prompt: str, values: Mapping[str, Any],
    read: Callable[[dict[str, Any]], T | Problem], *, sampling: Sampling, example: str, sample: int = 0,
) -> T | Problem:  # fmt: skip
    """What `read` makes of the JSON object that the builder answers with, else the last Problem."""

    def reader(text: str, truncated: bool) -> T | Problem:
        value = Problem(CUT_OFF) if truncated else parsed(text)
        return value if isinstance(value, Problem) else read(value)

    request = ChatRequest((Message("user", prompts.render(prompt, **values)),), sampling, sample, example=example)
    return await ask(caller, request, reader, _again, who="the builder", warmer=WARMER)


def parsed(text: str) -> dict[str, Any] | Problem:
    """The one JSON object of an answer; small damage is repaired, since everything in it is checked afterwards."""
    import json_repair

    start = text.find("{")
    if start < 0:
        return Problem("it holds no JSON object")
    try:
        value = json_repair.loads(re.sub(r"`{3,}\s*\Z", "", text[start:].strip()))
    except (ValueError, RecursionError):
        return Problem("its JSON cannot be read")
    if not isinstance(value, dict) or not value:
        return Problem("it holds no single JSON object")
    return value


def listed(value: Any, kind: type = str) -> list[Any]:
    """The entries of a list that are of this kind; [] for anything else."""
    return [entry for entry in value if isinstance(entry, kind)] if isinstance(value, list) else []


def problem(findings: Sequence[str]) -> Problem:
    """Findings as what is told to the builder."""
    more = len(findings) - _MOST
    return Problem("; ".join(findings[:_MOST]) + (f"; and {more} more" if more > 0 else ""))


def _again(said: str) -> str:
    return f"Your answer cannot be used: {said}. Give all of it again, in the form asked for, with this put right."
