"""Reading a judge's answer as hostile text: the last verdict object, checked against what was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

L = TypeVar("L")

# A verdict object opens with a criterion's key; braces in prose or in a quoted answer seldom do.
_OPENING = re.compile(r"\{\s*[\"'“]?criteria_\d+", re.IGNORECASE)
_KEY = re.compile(r"(?<![\\\w])[\"'“”]?criteria_(\d+)[\"'“”]?\s*:", re.IGNORECASE)
_QUOTED_KEY = re.compile(r"(?<!\\)[\"'“”]criteria_\d+[\"'“”]\s*:", re.IGNORECASE)
_NUMBERED = re.compile(r"^[ \t*#]*(\d+)[.):][ \t*]*(.*?)(?=^[ \t*#]*\d+[.):]|\Z)", re.MULTILINE | re.DOTALL)
_ORNAMENT = " \t\r\n*_`\"'.!。．"


@dataclass(frozen=True, slots=True)
class Reading(Generic[L]):
    """What an answer holds: a label per criterion (from 0) that has exactly one valid one, and what was wrong."""

    labels: Mapping[int, L]
    reasons: Mapping[int, str]
    problems: tuple[str, ...]


def read_verdicts(text: str, count: int, labels: Mapping[str, L]) -> Reading[L]:
    """Read the verdicts on `count` criteria; `labels` maps each word on offer to its label (`{"PASS": "yes", ...}`).

    Only the last object that opens with a `criteria_N` key counts. A criterion without a value, with two, or with a
    value that is not on offer has no label, and `problems` names it. Never raises.
    """
    span = _last_object(text)
    if span is None:
        return Reading({}, {}, (f"no JSON object with criteria_1 to criteria_{count} was found",))
    start, end = span
    if end is None:
        return Reading({}, {}, ("the JSON object is not closed",))
    if _QUOTED_KEY.search(text, end):
        return Reading({}, {}, ("there are labels after the JSON object",))
    values, problems = _values(text[start:end])
    found: dict[int, L] = {}
    reasons = _numbered_reasons(text[:start], count)
    words = {word.casefold(): label for word, label in labels.items()}
    for key, value in values.items():
        if not 1 <= key <= count:
            problems.append(f"criteria_{key} was not asked for")
            continue
        verdict = value.get("verdict") if isinstance(value, dict) else value
        if isinstance(value, dict) and isinstance(value.get("reason"), str):
            reasons[key - 1] = value["reason"].strip()
        word = verdict.strip(_ORNAMENT).casefold() if isinstance(verdict, str) else None
        if word in words:
            found[key - 1] = words[word]
        else:
            problems.append(f"criteria_{key} has no valid label but {_shown(verdict)}")
    for key in sorted(set(range(1, count + 1)) - set(values)):
        if not any(problem.startswith(f"criteria_{key} ") for problem in problems):
            problems.append(f"criteria_{key} has no label")
    return Reading(found, reasons, tuple(problems))


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)[:60]
    except RecursionError:
        return "a nest of lists"


def _last_object(text: str) -> tuple[int, int | None] | None:
    """(start, end) of the last verdict object, end None when it never closes; None where there is no such object.

    One inside a string of another is a quotation: a reason may quote a verdict that the response gives itself.
    """
    openings = {match.start() for match in _OPENING.finditer(text)}
    last: tuple[int, int | None] | None = None
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
            last = (start, i + 1)
    left = [start for start in unclosed if start in openings and (last is None or start > last[0])]
    return (left[-1], None) if left else last


def _values(body: str) -> tuple[dict[int, Any], list[str]]:
    """The value of each criterion that has exactly one, and a problem for each that has several."""
    pairs: list[tuple[str, Any]]
    try:
        pairs = json.loads(body, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        pairs = _repaired(body)
    seen: dict[int, list[Any]] = {}
    for key, value in pairs:
        match = re.fullmatch(r"criteria_(\d{1,6})", key.strip().lower())
        if match is not None:
            seen.setdefault(int(match.group(1)), []).append(_entry(value) if isinstance(value, _Pairs) else value)
    doubled = [key for key, values in seen.items() if len(values) > 1]
    values = {key: values[0] for key, values in seen.items() if len(values) == 1}
    return values, [f"criteria_{key} has more than one label" for key in doubled]


def _entry(pairs: list[tuple[str, Any]]) -> Any:
    """An entry with a reason as a dict; None where a key stands twice, since that is no one verdict."""
    entry = dict(pairs)
    return entry if len(entry) == len(pairs) else None


class _Pairs(list[tuple[str, Any]]):
    """An object as its pairs, since a dict would keep only the last of two equal keys."""


def _repaired(body: str) -> list[tuple[str, Any]]:
    """The pairs of an object with small faults (a trailing comma, single quotes), doubled keys kept doubled."""
    import json_repair

    try:
        value = json_repair.loads(body)
    except (ValueError, RecursionError):
        return []
    if not isinstance(value, dict):
        return []
    written = [int(number) for number in _KEY.findall(body) if len(number) <= 6]
    times = {f"criteria_{number}": written.count(number) for number in written}
    return [(str(key), item) for key, item in value.items() for _ in range(max(1, times.get(str(key).lower(), 1)))]


def _numbered_reasons(text: str, count: int) -> dict[int, str]:
    found = {int(n) - 1: reason for n, reason in _NUMBERED.findall(text) if len(n) <= 6 and 1 <= int(n) <= count}
    return {key: " ".join(reason.replace("```json", "").replace("```", "").split()) for key, reason in found.items()}
