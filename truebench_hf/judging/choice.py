"""One value out of a few, stated once in a JSON object at the end of a judge's answer, read as hostile text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from truebench_hf.judging.words import visible
from truebench_hf.models.asking import Problem

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Choice(Generic[V]):
    """The value chosen, and what was said before or beside it."""

    value: V
    reason: str


def read_choice(text: str, key: str, words: Mapping[str, V]) -> Choice[V] | Problem:
    """The value of the word under `key`; a Problem where there is none, two that differ, or one in prose that differs.

    Every object with that key counts, wherever it stands, and every statement of the form `key: word`. Behind the last
    object nothing but a closing fence may stand. Never raises.
    """
    text = visible(text).strip()
    folded = {word.casefold(): value for word, value in words.items()}
    objects = list(_objects(text, key))
    offered = " or ".join(words) if len(words) < 5 else f"{next(iter(words))} to {list(words)[-1]}"
    if not objects:
        return Problem(f"it has no JSON object with the key `{key}`")
    said = [_word(value) for _, _, found in objects for name, value in found.pairs if name == key]
    start, end, last = objects[-1]
    reason = last["reason"] if isinstance(last.get("reason"), str) else _unfenced(text[:start])
    said += [_word(match.group(1)) for match in _prose(key, words).finditer(f"{text[:start]}\n{reason}")]
    if re.sub(r"[`~\s]", "", text[end:]):
        return Problem("there is text behind the closing JSON object")
    if unknown := [word for word in said if word not in folded]:
        return Problem(f"`{key}` is {unknown[-1]!r}, not {offered}")
    if len({folded[word] for word in said}) > 1:
        return Problem(f"it names more than one value for `{key}`")
    return Choice(folded[said[0]], reason)


def _unfenced(text: str) -> str:
    """What stands before a fenced object, without the fence."""
    return re.sub(r"(?:`{3,}|~{3,})\w*\s*\Z", "", text).strip()


class _Object(dict[str, Any]):
    """A JSON object that also knows its pairs: of two equal keys a dict keeps only the last."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _objects(text: str, key: str) -> list[tuple[int, int, _Object]]:
    """(start, end, object) of every JSON object in the text that has the key; one within another is part of it."""
    decoder, found, at = json.JSONDecoder(strict=False, object_pairs_hook=_Object), [], 0
    while (start := text.find("{", at)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            at = start + 1
            continue
        if isinstance(value, _Object) and key in value:
            found.append((start, end, value))
        at = end
    return found


def _prose(key: str, words: Mapping[str, Any]) -> re.Pattern[str]:
    offered = "|".join(sorted(map(re.escape, words), key=len, reverse=True))
    stated = rf"\b{re.escape(key)}\b[\"'*_`]*\s*(?:is|of|=|:|to be)[\s\"'*_`]*({offered})(?!\w)"
    return re.compile(stated + r"(?!\s*(?:or|to|-|–)\s*\d)", re.IGNORECASE)  # a span of values states none


def _word(value: Any) -> str:
    """A value as the word it stands for: 4, "4" and 4.0 are one; True and lists are none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return json.dumps(value)[:40]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split()).casefold()
