"""The verdict objects in a judge's answer: where they stand, and their keys and values with nothing guessed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

# A verdict object has a criterion's key before any brace within; braces in prose or in a quoted answer seldom do.
_OPENING = re.compile(r"\{[^{}]*?criteria_\d+[\"'“”]?\s*:", re.IGNORECASE)
_FENCE = r"(`{3,}|~{3,})"
_FENCE_BEFORE = re.compile(_FENCE + r"[ \t]*\w*\s*\Z")
_FENCE_AFTER = re.compile(r"\s*" + _FENCE)
_REACH = 60  # how far before an object its fence may open
_TOKEN = re.compile(r"\s*(\"(?:[^\"\\]|\\.)*\"|'[^'\\]*'|[“”][^“”\\]*[“”]|[{}\[\]:,]|[\w.+-]+)", re.DOTALL)
_SIGNS = frozenset("{}[]:,")


@dataclass(frozen=True, slots=True)
class Found:
    """An object at `start` to `end` of a text; `left` to `right` takes in its fence, where it is `fenced`."""

    start: int
    end: int
    left: int
    right: int
    fenced: bool


def objects(text: str) -> list[Found] | None:
    """The verdict objects of a text in order; None where one never closes, since then nobody knows what is in it.

    One inside another is part of it, and one inside a string of another is a quotation.
    """
    openings = {match.start() for match in _OPENING.finditer(text)}
    found: list[tuple[int, int]] = []
    unclosed: list[int] = []  # where the braces that are open begin
    quoted = escaped = False
    for i in range(min(openings, default=len(text)), len(text)):
        character = text[i]
        if quoted:
            quoted, escaped = escaped or character != '"', character == "\\" and not escaped
        elif character == '"':
            quoted = bool(unclosed)  # quotation marks in prose need not pair
        elif character == "{" and (unclosed or i in openings):
            unclosed.append(i)
        elif character == "}" and unclosed and (start := unclosed.pop()) in openings:
            while found and found[-1][0] > start:
                found.pop()
            found.append((start, i + 1))
    return None if unclosed else [_framed(text, *span) for span in found]


def _framed(text: str, start: int, end: int) -> Found:
    before, after = _FENCE_BEFORE.search(text, max(0, start - _REACH), start), _FENCE_AFTER.match(text, end)
    if before and after and before.group(1)[0] == after.group(1)[0]:
        return Found(start, end, before.start(), after.end(), True)
    return Found(start, end, start, end, False)


class Pairs(list[tuple[str, Any]]):
    """An object as its pairs, keys in lower case: a dict would keep only the last of two equal keys."""


def pairs(body: str) -> Pairs | None:
    """The pairs of an object, those of objects within as `Pairs` too; None where it cannot be parsed.

    Small faults are mended: a trailing or missing comma, other quotation marks or none, line breaks in strings.
    """
    for mend in (str, _mended):
        try:
            return Pairs(json.loads(mend(body), object_pairs_hook=_lowered, strict=False))
        except (ValueError, RecursionError):
            continue
    return None


def _lowered(made: list[tuple[str, Any]]) -> Pairs:
    return Pairs((key.strip().lower(), value) for key, value in made)


def _mended(body: str) -> str:
    """The same tokens as JSON. Raises ValueError where a text is no sequence of them."""
    made: list[str] = []
    at = 0
    while at < len(body):
        if (match := _TOKEN.match(body, at)) is None:
            raise ValueError("not even nearly JSON")
        at, token = match.end(), match.group(1)
        if token in ("}", "]") and made[-1:] == [","]:
            made.pop()
        scalar = token not in _SIGNS
        if scalar and made and (made[-1] not in _SIGNS or made[-1] in "}]"):
            made.append(",")
        plain = token[1:-1] if token[0] in "'“”" else token
        made.append(json.dumps(plain) if scalar and token[0] != '"' else token)
    return "".join(made)
