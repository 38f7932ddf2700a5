"""One value out of a few, or several, stated in a JSON object that closes a model's answer, read as hostile text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from truebench_hf.judging.words import visible
from truebench_hf.models.asking import Problem

V = TypeVar("V")
_NEAR = 10_000  # characters before a fault that Python counts the lines of, for an error that nobody reads


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
    objects = _closing(text, key)
    if isinstance(objects, Problem):
        return objects
    folded = {word.casefold(): value for word, value in words.items()}
    offered = " or ".join(words) if len(words) < 5 else f"{next(iter(words))} to {list(words)[-1]}"
    said = [_word(value) for _, _, found in objects for value in found.under(key)]
    reason = _reason(text, objects)
    said += [_word(match.group(1)) for match in _prose(key, words).finditer(f"{text[: objects[-1][0]]}\n{reason}")]
    if unknown := [word for word in said if word not in folded]:
        return Problem(f"`{key}` is {unknown[-1]!r}, not {offered}")
    if len({folded[word] for word in said}) > 1:
        return Problem(f"it names more than one value for `{key}`")
    return Choice(folded[said[0]], reason)


def read_choices(text: str, key: str, words: Mapping[str, V]) -> Choice[tuple[V, ...]] | Problem:
    """The values of the words in the list under `key`, in the order of `words`, each once; the list may be empty.

    A Problem where there is no list, one with another word, or two that differ; a line in prose `key: word, word` is a
    list, too. Behind the last object nothing but a closing fence may stand. Never raises.
    """
    text = visible(text).strip()
    objects = _closing(text, key)
    if isinstance(objects, Problem):
        return objects
    folded, reason = {word.casefold(): value for word, value in words.items()}, _reason(text, objects)
    lists = [value for _, _, found in objects for value in found.under(key)]
    if not all(isinstance(one, list) for one in lists):
        return Problem(f"`{key}` is no list")
    said = [{_word(value) for value in one} for one in lists]
    if unknown := [word for one in said for word in sorted(one) if word not in folded]:
        return Problem(f"`{key}` holds {unknown[-1][:60]!r}, which is none of those offered")
    said += list(_prose_lists(f"{text[: objects[-1][0]]}\n{reason}", key, folded))
    if any(one != said[-1] for one in said):
        return Problem(f"it names more than one list for `{key}`")
    return Choice(tuple(value for word, value in folded.items() if word in said[0]), reason)


def _closing(text: str, key: str) -> list[tuple[int, int, _Object]] | Problem:
    """The objects with the key, the last of which closes the text."""
    objects = list(_objects(text, key))
    if not objects:
        return Problem(f"it has no JSON object with the key `{key}`")
    if re.sub(r"[`~\s]", "", text[objects[-1][1] :]):
        return Problem("there is text behind the closing JSON object")
    return objects


def _reason(text: str, objects: list[tuple[int, int, _Object]]) -> str:
    """What is said in the last object, or else before it."""
    start, _, last = objects[-1]
    return last["reason"] if isinstance(last.get("reason"), str) else _unfenced(text[:start])


def _prose_lists(text: str, key: str, folded: Mapping[str, Any]) -> Iterator[set[str]]:
    """What lines such as `key: word and word` list, if they hold nothing else."""
    offered = re.compile("|".join(sorted(map(re.escape, folded), key=len, reverse=True)), re.IGNORECASE)
    for match in re.finditer(rf"\b{key}\b[\"'*_`]*\s*(?:is|are|of|=|:)([^\n{{]*)", text, re.IGNORECASE):
        words = {_word(word) for word in offered.findall(match.group(1))}
        rest = re.sub(r"(?i)\band\b|[\W_]", "", offered.sub(" ", match.group(1)))
        if words and not rest:
            yield words


def _unfenced(text: str) -> str:
    """What stands before a fenced object, without the fence."""
    return re.sub(r"(?:`{3,}|~{3,})\w*\s*\Z", "", text).strip()


class _Object(dict[str, Any]):
    """A JSON object that also knows its pairs: of two equal keys a dict keeps only the last."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def under(self, key: str) -> list[Any]:
        """All values that it has under a key."""
        return [value for name, value in self._pairs if name == key]


def _objects(text: str, key: str) -> list[tuple[int, int, _Object]]:
    """(start, end, object) of every JSON object in the text that has the key; one within another is part of it."""
    decoder, found, at = json.JSONDecoder(strict=False, object_pairs_hook=_Object), [], 0
    rest, base = text, 0
    while (start := text.find("{", at)) >= 0:
        if start - base > _NEAR:
            rest, base = text[start:], start
        try:
            value, end = decoder.raw_decode(rest, start - base)
        except (ValueError, RecursionError):
            at = start + 1
            continue
        end += base
        if isinstance(value, _Object) and key in value:
            found.append((start, end, value))
        at = end
    return found


def _prose(key: str, words: Mapping[str, Any]) -> re.Pattern[str]:
    # A word of one letter counts as it is written: "the preference is a close one" states no A.
    spelt = [rf"(?-i:{re.escape(word)})" if len(word) == 1 else re.escape(word) for word in words]
    offered = "|".join(sorted(spelt, key=len, reverse=True))
    name = re.escape(key).replace("_", "[_ ]")  # prose spells `final_score` with a blank
    stated = rf"\b{name}\b[\"'*_`]*\s*(?:(?:is|of|to be)\s*[:=]?|[:=])[\s\"'*_`]*({offered})(?!\w)"
    # A span of values, or a list of words, states none; "4/5" is a 4.
    several = rf"(?!\s*(?:or|to|-|–)\s*(?:\d|(?:{offered})\b)|\s*[/,|]\s*(?!\d)(?:{offered})\b)"
    return re.compile(stated + several, re.IGNORECASE)


def _word(value: Any) -> str:
    """A value as the word it stands for: 4, "4" and 4.0 are one; True and lists are none."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return json.dumps(value)[:40]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return " ".join(str(value).split()).casefold()


def stated(text: str, key: str) -> list[tuple[int, Any]]:
    """(end of its object, value) of everything that the objects of a text state under a key, in order."""
    return [(end, value) for _, end, found in _objects(text, key) for value in found.under(key)]
