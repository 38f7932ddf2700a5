"""The JSON objects in a model's answer, with the small faults that models make in them; nothing is guessed.

Reading takes a time that grows with the text, whatever it holds: what an answer may cost is bounded, and an answer that
costs more raises `TooManyObjects`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

_TRIES = 1_000  # places at which an object may begin
_BUDGET = 400_000  # characters that the tolerant parser may look at in one answer
_DEPTH = 8
_OPENING = re.compile(r"\{(?=\s{0,200}(?:[\"'“”„}]|[\w ]{1,60}[:：]))")
_COMMENT = r"(?:(?:(?://|#)[^\n]{0,300}\n|/\*[^*]{0,300}\*/)\s*)"
_BLANK = re.compile(rf"[\s\\]*{_COMMENT}*")
_KEY = r"(?:[\"'“”„][^\"'“”„{}\n]{1,80}[\"'“”]|[\w -]{1,60})\s*[:：=]"
# A quotation mark ends a value only where the object goes on behind it: those within a reason often stand unescaped.
_VALUE_END = rf"(?=[\s\\]*{_COMMENT}{{0,3}}(?:[}}\]]|[,，;]\s*{_COMMENT}{{0,3}}(?:[}}\]]|{_KEY})|(?<=\n)\s*{_KEY}))"
_CLOSERS = {'"': '"', "'": "'", "“": '“”"', "”": '“”"', "„": '“”"'}
_ENDS = {
    (opener, place): re.compile(rf"\\.|[{signs}]{end}", re.DOTALL)
    for opener, signs in _CLOSERS.items()
    for place, end in (("key", ""), ("value", _VALUE_END), ("item", r"(?=\s*[\],，])"))
}
_BARE = re.compile(r"[^\s,，;:：{}\[\]\"“”](?:[^,，;{}\[\]\"“”\n]{0,200}[^\s,，;{}\[\]\"“”])?")
_BARE_KEY = re.compile(r"[\w#][\w #.-]{0,60}")
_ESCAPE = re.compile(r"\\([\"'\\/])|\\n|\\t")
_CONSTANTS = {"null": None, "None": None, "true": True, "True": True, "false": False, "False": False}


class TooManyObjects(Exception):
    """An answer holds more that looks like JSON than anybody would write."""


class JsonObject(dict[str, Any]):
    """An object that also knows its `pairs`: of two equal keys a dict keeps only the last."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def strip_invisible(text: str) -> str:
    """The text without signs that nobody sees, and without what only shapes the sign before."""
    if text.isascii():
        return text
    hidden = [sign for sign in set(text) if sign in "\ufe0f\u20e3" or unicodedata.category(sign) == "Cf"]
    return text.translate(dict.fromkeys(map(ord, hidden))) if hidden else text


def find_objects(text: str, opening: re.Pattern[str] = _OPENING) -> Iterator[tuple[int, int, JsonObject]]:
    """Yield (start, end, object) of every outermost JSON object of a text that begins as `opening` says.

    An object that was mended does not reach over the beginning of another one. Raises TooManyObjects.
    """
    decoder = json.JSONDecoder(strict=False, object_pairs_hook=JsonObject)
    parser = _LooseParser(text)
    position = 0
    for _ in range(_TRIES):
        if (match := opening.search(text, position)) is None:
            return
        position = start = match.start()
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            value, end = parser.parse(start)
            if opening is not _OPENING and opening.search(text, match.end(), end):
                value = None
        if value is None:
            position = match.end()
        else:
            position = end
            yield start, end, value
    raise TooManyObjects


class _Malformed(Exception):
    pass


class _LooseParser:
    """Parses objects with other quotation marks or none, unescaped ones, trailing or missing commas, and comments."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._left = _BUDGET

    def parse(self, start: int) -> tuple[JsonObject | None, int]:
        """The object that begins at `start`, and where it ends; None where none does."""
        self._reached = start
        try:
            return self._object(start, 0)
        except _Malformed:
            return None, start
        finally:
            self._left -= self._reached - start
            if self._left < 0:
                raise TooManyObjects

    def _skip(self, position: int) -> int:
        match = _BLANK.match(self._text, position)
        assert match is not None
        self._reached = max(self._reached, match.end())
        return match.end()

    def _object(self, position: int, depth: int) -> tuple[JsonObject, int]:
        pairs: list[tuple[str, Any]] = []
        position = self._skip(position + 1)
        while not self._text.startswith("}", position):
            key, position = self._key(position)
            position = self._skip(position)
            if self._text[position : position + 1] not in (":", "：", "="):
                raise _Malformed
            value, position = self._value(self._skip(position + 1), depth, "value")
            pairs.append((key, value))
            position = self._separated(position)
        return JsonObject(pairs), position + 1

    def _list(self, position: int, depth: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        position = self._skip(position + 1)
        while not self._text.startswith("]", position):
            value, position = self._value(position, depth, "item")
            values.append(value)
            position = self._separated(position)
        return values, position + 1

    def _separated(self, position: int) -> int:
        """Where the next entry begins. A line break can stand for the comma."""
        start, position = position, self._skip(position)
        if self._text[position : position + 1] in (",", "，", ";") and position < len(self._text):
            return self._skip(position + 1)
        if self._text[position : position + 1] not in ("}", "]") and "\n" not in self._text[start:position]:
            raise _Malformed
        return position

    def _key(self, position: int) -> tuple[str, int]:
        if self._text[position : position + 1] in _CLOSERS and position < len(self._text):
            return self._string(position, "key")
        return self._bare(position, _BARE_KEY)

    def _value(self, position: int, depth: int, place: str) -> tuple[Any, int]:
        sign = self._text[position : position + 1]
        if depth > _DEPTH or not sign:
            raise _Malformed
        if sign == "{":
            return self._object(position, depth + 1)
        if sign == "[":
            return self._list(position, depth + 1)
        if sign in _CLOSERS:
            return self._string(position, place)
        word, end = self._bare(position, _BARE)
        return _CONSTANTS.get(word, word), end

    def _bare(self, position: int, form: re.Pattern[str]) -> tuple[str, int]:
        if (match := form.match(self._text, position)) is None:
            raise _Malformed
        self._reached = max(self._reached, match.end())
        return match.group().strip(), match.end()

    def _string(self, position: int, place: str) -> tuple[str, int]:
        form, end = _ENDS[self._text[position], place], position + 1
        while (match := form.search(self._text, end)) is not None and match.group().startswith("\\"):
            end = match.end()
        if match is None:
            self._reached = len(self._text)
            raise _Malformed
        self._reached = max(self._reached, match.end())
        body = self._text[position + 1 : match.end() - 1]
        return _ESCAPE.sub(lambda escape: escape[1] or (" " if escape[0] == "\\t" else "\n"), body), match.end()
