"""Reading a judge's answer as hostile text: its one verdict object, checked against what was asked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from truebench_hf.judging.objects import Found, Pairs, objects, pairs

L = TypeVar("L")

# A key with a value as JSON writes them; prose may name a criterion and put a colon behind it.
_LABELLED = re.compile(r"(?<!\\)[\"'“”]criteria_\d+[\"'“”]\s*:\s*[\"'“{\[]", re.IGNORECASE)
_NUMBERED = re.compile(r"[ \t*#]*(\d{1,6})[.):][ \t*]*(.*)")
_ORNAMENT = " \t\r\n*_`\"'.!。．"
_WRAPPING = _ORNAMENT + "()[]{}"


@dataclass(frozen=True, slots=True)
class Reading(Generic[L]):
    """What an answer holds: a label per criterion (from 0) that has exactly one valid one, and what was wrong.

    `doubtful` are the criteria that the answer does speak of, but not with one valid label.
    """

    labels: Mapping[int, L]
    reasons: Mapping[int, str]
    problems: tuple[str, ...]
    doubtful: frozenset[int] = frozenset()


def read_verdicts(text: str, count: int, labels: Mapping[str, L], cut: bool = False) -> Reading[L]:
    """Read the verdicts on `count` criteria; `labels` maps each word on offer to its label (`{"PASS": "yes", ...}`).

    An answer may quote verdicts that the response gives itself. So its last object counts only when it stands on lines
    of its own or closes the answer, and when no other object differs; a fenced one outweighs drafts without a fence.
    An answer that was `cut` off counts only when the cut surely took nothing. Never raises.
    """
    reading = _read(text.rstrip(), count, labels, cut)
    if cut and reading.problems:
        return Reading({}, {}, ("the answer was cut off at the token limit",))
    return reading


def _read(text: str, count: int, labels: Mapping[str, L], cut: bool) -> Reading[L]:
    found = objects(text)
    if found is None:
        return Reading({}, {}, ("a JSON object is not closed",))
    if not found:
        return Reading({}, {}, (f"no JSON object with criteria_1 to criteria_{count} was found",))
    last = found[-1]
    readings = [_entries(text[one.start : one.end], count, labels) for one in found]
    reading, everything = readings[-1], frozenset(range(count))
    rivals = [other for one, other in zip(found, readings, strict=True) if one.fenced or not last.fenced]
    if any(rival.labels != reading.labels for rival in rivals):
        return Reading({}, {}, ("there are several JSON objects with different labels",), everything)
    if any(map(_LABELLED.search, _outside(text, found))):
        return Reading({}, {}, ("there are labels outside the JSON object",), everything)
    if not (_closes_surely(text, last) if cut else _stands(text, last)):
        return Reading({}, {}, ("the JSON object is neither on lines of its own nor at the end of the answer",))
    reasons = {**_numbered_reasons(text[: last.left], count), **reading.reasons}
    return Reading(reading.labels, reasons, reading.problems, reading.doubtful)


def _outside(text: str, found: list[Found]) -> list[str]:
    starts, ends = [one.start for one in found], [one.end for one in found]
    return [text[a:b] for a, b in zip([0, *ends], [*starts, len(text)], strict=True)]


def _stands(text: str, one: Found) -> bool:
    before, after = text[text.rfind("\n", 0, one.left) + 1 : one.left], text[one.right :]
    return not after.strip(_WRAPPING) or not (before + after.partition("\n")[0]).strip(_WRAPPING)


def _closes_surely(text: str, one: Found) -> bool:
    # An object in running text may be a quotation whose sentence was cut off.
    return one.right == len(text) and (one.fenced or not text[: one.left].strip())


def _entries(body: str, count: int, labels: Mapping[str, L]) -> Reading[L]:
    """The labels and reasons that one object holds."""
    values = pairs(body)
    if values is None:
        return Reading({}, {}, ("the JSON object cannot be parsed",), frozenset(range(count)))
    words = {word.casefold(): label for word, label in labels.items()}
    said: dict[int, list[Any]] = {}
    for name, value in values:
        if match := re.fullmatch(r"criteria_(\d{1,6})", name):
            said.setdefault(int(match.group(1)), []).append(value)
    found: dict[int, L] = {}
    reasons: dict[int, str] = {}
    problems = []
    for key, several in said.items():
        verdict, reason = _entry(several[0])
        word = verdict.strip(_ORNAMENT).casefold() if isinstance(verdict, str) else None
        if not 1 <= key <= count:
            problems.append(f"criteria_{key} was not asked for")
        elif len(several) > 1:
            problems.append(f"criteria_{key} has more than one label")
        elif word is None or word not in words:
            problems.append(f"criteria_{key} has no valid label but {_shown(verdict)}")
        else:
            found[key - 1] = words[word]
            reasons |= {key - 1: reason} if reason else {}
    problems += [f"criteria_{key} has no label" for key in range(1, count + 1) if key not in said]
    doubtful = frozenset(key - 1 for key in said if 1 <= key <= count) - set(found)
    return Reading(found, reasons, tuple(problems), doubtful)


def _entry(value: Any) -> tuple[Any, str]:
    """The verdict and the reason of an entry; no verdict where a key stands twice, since that is no one verdict."""
    if not isinstance(value, Pairs):
        return value, ""
    fields = dict(value)
    reason = fields.get("reason")
    return fields.get("verdict") if len(fields) == len(value) else None, reason.strip() if isinstance(
        reason, str
    ) else ""


def _shown(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)[:60]
    except RecursionError:
        return "a nest of lists"


def _numbered_reasons(text: str, count: int) -> dict[int, str]:
    """The reasons by their numbers, in order: a list within the reason of 1 may count from 1 again."""
    reasons: list[list[str]] = []
    for line in text.splitlines():
        match = _NUMBERED.match(line)
        if match and len(reasons) < count and int(match.group(1)) == len(reasons) + 1:
            reasons.append([match.group(2)])
        elif reasons:
            reasons[-1].append(line)
    return {i: " ".join(" ".join(lines).split()) for i, lines in enumerate(reasons)}
