"""What a judge says of every sentence in JSON, read as hostile text: one object a sentence, nothing guessed.

The objects may stand one a line, in a list, or in an object around them. What does not parse is asked for again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from truebench_hf.judging.grounding.types import LABELS, UNGROUNDED, UnitLabel
from truebench_hf.judging.objects import Pairs, pairs
from truebench_hf.judging.words import ORNAMENT, visible
from truebench_hf.models.asking import Problem

_FAULTS = 50  # objects that do not parse, beyond which an answer is not looked at any further
_REACH = 20_000  # characters that one object may have
_NAMES = r"no[_ -]?rad|unsupported|supported|contradictory"
# A label that prose gives a sentence, or all of them; a list of labels to choose from gives none.
_STATED = re.compile(
    rf"\b(?:label\w*|sentence\s*(\d{{1,4}})|final)\b[^\n.]{{0,30}}?\b({_NAMES})\b(?!\s*[,/|]|\s+or\b)", re.IGNORECASE
)
_CONCLUDED = re.compile(
    rf"\b(?:label(?:l?ed)?|classif\w+|marked|therefore|hence|thus)\W+(?:\w+\W+){{0,3}}?({_NAMES})\b", re.IGNORECASE
)
_WHOLE = {"accurate": True, "inaccurate": False}
_NOTHING = {"", "null", "none", "n/a", "na", "-"}


@dataclass(frozen=True, slots=True)
class Entry:
    """One sentence as the judge wrote it, its label, why, and what it quotes from the source."""

    sentence: str
    label: UnitLabel
    reason: str
    quotes: tuple[str, ...]


def read_entries(text: str) -> list[Entry] | Problem:
    """The sentences of an answer in its order; a Problem where one is not settled. Never raises."""
    text = visible(text)
    found = json_objects(text)
    if isinstance(found, Problem):
        return found
    entries: list[Entry] = []
    outside, at, verdicts = "", 0, set()
    for start, end, made in found:
        rows = list(_rows(made))
        if not rows:
            continue
        outside, at = outside + text[at:start] + "\n", end
        if rows != [made]:
            verdicts |= _verdicts(made)
        for row in rows:
            entry = _entry(row, len(entries) + 1)
            if isinstance(entry, Problem):
                return entry
            entries.append(entry)
    if not entries:
        return Problem("it has no JSON object with the keys `sentence` and `label`")
    if re.search(r"\w", text[at:]):
        return Problem("there is text behind the last JSON object")
    if stated := next((match for match in _STATED.finditer(outside) if not _repeats(match, entries)), None):
        return Problem(f"text outside of the JSON objects gives a label: {stated.group()!r}")
    if verdicts - {all(entry.label not in UNGROUNDED for entry in entries)}:
        return Problem("its verdict on the whole response does not agree with its labels")
    return entries


def _repeats(stated: re.Match[str], entries: list[Entry]) -> bool:
    """Whether prose says of a sentence by its number what its object says."""
    number = int(stated.group(1) or 0)
    return 0 < number <= len(entries) and label_of(stated.group(2)) == entries[number - 1].label


def json_objects(text: str) -> list[tuple[int, int, Pairs]] | Problem:
    """(start, end, object) of every outermost JSON object; a Problem where one with a label in it does not parse."""
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=Pairs)
    found: list[tuple[int, int, Pairs]] = []
    at = faults = 0
    while (start := text.find("{", at)) >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = _closing(text, start)
            if end and '"' not in text[start:end]:  # braces of prose or of a formula
                at = end
                continue
            faults += 1
            value = pairs(text[start:end]) if end else None
            if (
                value is None
                and faults <= _FAULTS
                and not re.search(r"label", text[start : end or None], re.IGNORECASE)
            ):
                at = start + 1
                continue
            if value is None:
                return Problem("one of its JSON objects cannot be parsed")
        found.append((start, end, value))
        at = end
    return found


def _closing(text: str, start: int) -> int:
    """Where the object that begins at `start` is closed, 0 where it is not."""
    depth, quoted, skip = 0, False, False
    for i in range(start, min(len(text), start + _REACH)):
        sign = text[i]
        if skip:
            skip = False
        elif quoted:
            skip, quoted = sign == "\\", sign != '"'
        elif sign == '"':
            quoted = True
        elif sign in "{}":
            depth += 1 if sign == "{" else -1
            if not depth:
                return i + 1
    return 0


def _rows(made: Pairs, depth: int = 0) -> Iterator[Pairs]:
    """The object itself where it is about a sentence, else those in its lists."""
    if {"sentence", "label"} & {key.casefold() for key, _ in made}:
        yield made
    elif depth < 4:
        for _, value in made:
            for inner in value if isinstance(value, list) and not isinstance(value, Pairs) else [value]:
                if isinstance(inner, Pairs):
                    yield from _rows(inner, depth + 1)


def _verdicts(made: Pairs) -> set[bool]:
    return {_WHOLE[value.casefold()] for _, value in made if isinstance(value, str) and value.casefold() in _WHOLE}


def _entry(row: Pairs, number: int) -> Entry | Problem:
    """One sentence, or what is wrong with it. Every key that speaks of a label counts."""
    values = [(key.casefold().strip(), value) for key, value in row]
    sentences = {value for key, value in values if key == "sentence" and isinstance(value, str)}
    if len(sentences) != 1 or not (sentence := sentences.pop()).strip():
        return Problem(f"object {number} does not name one sentence under `sentence`")
    given = [value for key, value in values if key == "label"]
    if not given:
        return Problem(f"object {number} has no `label`")
    if odd := [value for value in given if label_of(value) is None]:
        return Problem(f"the label of sentence {number} is {str(odd[0])[:40]!r}, not one of {', '.join(LABELS)}")
    other = [value for key, value in values if "label" in key or key in ("verdict", "classification")]
    labels = {label_of(value) for value in [*given, *other]} - {None}
    if len(labels) > 1:
        return Problem(f"sentence {number} has more than one label")
    label = labels.pop()
    assert label is not None
    reason = next((value for key, value in values if key in ("rationale", "reason") and isinstance(value, str)), "")
    if _concludes_otherwise(reason, label):
        return Problem(f"the rationale of sentence {number} gives another label than `label`")
    quotes = [quote for key, value in values if key in ("excerpt", "excerpts") for quote in quotes_of(value)]
    return Entry(sentence, label, reason, tuple(quotes))


def label_of(value: Any) -> UnitLabel | None:
    """The label that a value is, but for letter case, blanks and ornament; None where it is none."""
    if not isinstance(value, str):
        return None
    plain = re.sub(r"[\s-]+", "_", value.strip(ORNAMENT).casefold())
    return next((label for label in LABELS if plain == label), None)


def quotes_of(value: Any) -> Iterator[str]:
    """The texts in a string or a list of strings, without what stands for none."""
    for one in value if isinstance(value, list) and not isinstance(value, Pairs) else [value]:
        if isinstance(one, str) and one.strip().casefold() not in _NOTHING:
            yield one.strip()


def _concludes_otherwise(reason: str, label: UnitLabel) -> bool:
    """Whether a rationale ends in another label: "therefore unsupported" beside `supported`."""
    for match in _CONCLUDED.finditer(reason):
        denied = re.search(r"\b(?:not|no)\b(?!.rad)", match.group(), re.IGNORECASE) is not None
        if (label_of(match.group(1).replace("norad", "no_rad")) == label) == denied:
            return True
    return False
