"""Reads answers to the papers' own plain prompts as these prescribe: TRUEBench, listing 5, and RubricEval, Table 12.

They ask for a JSON block behind the analysis, without a tag. The last fenced block counts, or the last object where none
is fenced, and in it the keys and the words exactly as asked for. It can be a quotation of the response: that is the
papers' protocol, and why it is not the default.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from truebench_hf.judging.signed import CUT_OFF, Labels, SignedAnswer

L = TypeVar("L")
_OBJECT = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*+\}")


def read_plain(text: str, labels: Labels[L], truncated: bool) -> SignedAnswer[L]:
    """The labels of the last JSON block of an answer. Never raises."""
    if truncated:
        return SignedAnswer({}, (CUT_OFF,), signed=False)
    _, fence, behind = text.rpartition("```json")
    block = behind.partition("```")[0] if fence else next(iter(_OBJECT.findall(text)[-1:]), "")
    try:
        entries = dict(json.loads(block, strict=False))
    except (ValueError, TypeError, RecursionError):
        entries = {}
    stated: dict[str, Any] = {
        key: value.get("verdict") if isinstance(value, dict) else value for key, value in entries.items()
    }
    read = {key: words[stated[key]] for key, words in labels.items() if key in stated and stated[key] in list(words)}
    reasons = {key: str(value.get("reason", "")) for key, value in entries.items() if isinstance(value, dict)}
    problems = [
        f"{key} does not have one of the labels {' or '.join(labels[key])}" for key in labels if key not in read
    ]
    return SignedAnswer(read, tuple(problems), reasons, unclear=frozenset(stated.keys() & labels.keys() - read.keys()))
