"""The JSON objects in a model's answer, with the small faults that models make in them; nothing is guessed.

Reading takes a time that grows with the text, whatever it holds: what one answer may cost is bounded, and an answer that
costs more raises `TooManyObjects`.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

_TRIES = 1_000  # places at which an object may begin
_STEPS = 30_000  # tokens that are mended in one text; an object that cannot be mended counts for a hundred
_OPENING = re.compile(r"\{(?=\s{0,200}(?:[\"'“”„}]|[\w ]{1,60}[:：]))")
_SIGNED = re.compile(r"\{\s{0,200}[\"'“]?id[\"'”]?\s{0,20}[:：=]\s{0,20}[\"'“]?(\w+)", re.IGNORECASE)
_GAP = r"[\s\\]*(?:(?:(?://|#)[^\n]{0,300}\n|/\*[^*]{0,300}\*/)\s*){0,5}"  # blanks and comments
_KEY = r"(?:[\"'“”„][^\"'“”„{}\n]{1,80}[\"'“”]|[\w -]{1,60})\s*[:：=]"
_BARE = r"(?P<bare>[^\s,，;:：={}\[\]\"“”'][^,，;:：={}\[\]\"“”\n]{0,300})"


# A quotation mark ends a string only where the object goes on behind it: those within a reason often stand unescaped.
_GOES_ON = rf"(?:{_GAP}(?:[:：=}}\]]|[,，;]{_GAP}(?:[}}\]\"'“{{]|{_KEY}))|\s*\n\s*{_KEY})"
_MARKS = {"double": ('"', '"'), "single": ("'", "'"), "curly": ("“”„", '“”"')}
_STRINGS = (
    rf"[{opening}](?P<{name}>(?:[^{closing}\\]|\\.|[{closing}](?!{_GOES_ON})){{0,20000}}+)[{closing}]"
    for name, (opening, closing) in _MARKS.items()
)
_TOKEN = re.compile(rf"{_GAP}(?:(?P<sign>[{{}}\[\],，;:：=])|{'|'.join(_STRINGS)}|{_BARE})", re.DOTALL)
_JOINERS = re.compile(r"[\u200c\u200d](?![^\x00-\x7f])|(?<![^\x00-\x7f])[\u200c\u200d]")
_SIGNS = {"，": ",", ";": ",", "：": ":", "=": ":"}
_ESCAPE = re.compile(r"\\([\"'\\/])|\\([nt])")
_STRUCTURE = re.compile(r"[{}]|[\"'“”]\s*[:：=]")
_COLON = re.compile(rf"{_GAP}[:：=]")


class TooManyObjects(Exception):
    """An answer holds more that looks like JSON than anybody would write."""


class JsonObject(dict[str, Any]):
    """An object that also knows its `pairs`: of two equal keys a dict keeps only the last."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=JsonObject)


def strip_invisible(text: str) -> str:
    """The text without signs that nobody sees, and without what only shapes the sign before.

    Joiners between letters beyond ASCII are part of their words, and stay.
    """
    if text.isascii():
        return text
    text = _JOINERS.sub("", text)
    shaping = {sign for sign in set(text) if unicodedata.category(sign) == "Cf"} - set("\u200c\u200d")
    return text.translate(dict.fromkeys(map(ord, shaping | set("\ufe0f\u20e3"))))


def fold_compatible(text: str) -> str:
    """Return the text with every sign in its plain form, sign by sign: marks that pile up cost no more than others."""
    signs = {ord(sign): unicodedata.normalize("NFKC", sign) for sign in set(text) if not sign.isascii()}
    return text.translate(signs)


def find_objects(text: str, tag: str = "") -> Iterator[tuple[int, int, JsonObject]]:
    """Yield (start, end, object) of every outermost JSON object of a text; with a tag of those that open with it as `id`.

    An object that opens with an `id` and was mended does not reach over the opening of another one. Raises TooManyObjects.
    """
    opening = _SIGNED if tag else _OPENING
    position, steps = 0, _STEPS
    for _ in range(_TRIES):
        if (match := opening.search(text, position)) is None:
            return
        position, start = match.end(), match.start()
        if tag and match[1] != tag:
            continue
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            mended, end, steps = _mended(text, start, steps)
            try:
                value = _DECODER.decode(mended)
            except (ValueError, RecursionError):
                value = None
            if tag and opening.search(text, position, end):
                continue
        if value is not None:
            position = end
            yield start, end, value
    raise TooManyObjects


def _mended(text: str, start: int, steps: int) -> tuple[str, int, int]:
    """(the object that begins at `start` as proper JSON, "" where none does; where it ends; the steps that are left).

    Mended are other quotation marks or none, unescaped ones, trailing commas, commas that a line break stands for,
    backslashes, and comments.
    """
    tokens: list[str] = []
    position, depth = start, 0
    while (match := _TOKEN.match(text, position)) is not None:
        if (steps := steps - 1) < 0:
            raise TooManyObjects
        if sign := _SIGNS.get(match["sign"], match["sign"]):
            if sign in "}]" and tokens[-1] == ",":
                tokens.pop()
            depth += (sign in "{[") - (sign in "}]")
            tokens.append(sign)
        else:
            if tokens[-1] not in "{[:,":
                if "\n" not in text[position : match.end()]:
                    break
                tokens.append(",")
            name = match.lastgroup or ""
            bare = _ESCAPE.sub("", match[name])
            # With unescaped quotation marks in it a string could have taken in a part of the object around it.
            marked = any(mark in bare for mark in _MARKS.get(name, ("", ""))[1])
            if marked and (_STRUCTURE.search(bare) or _COLON.match(text, match.end())):
                break
            tokens.append(json.dumps(_ESCAPE.sub(lambda escape: escape[1] or " ", match[name].strip())))
        position = match.end()
        if depth == 0:
            return "".join(tokens), position, steps
    return "", start, steps - 100
