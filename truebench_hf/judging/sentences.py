"""Sentences of texts in many languages, as offsets that cover the text: by pysbd, and by blanks where it has no rules.

pysbd knows 23 languages. Others of the same script get the rules of one it knows (Korean ends its sentences as English
does); Thai, Lao and Khmer, which write no full stop, are cut at the blanks between clauses.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from itertools import pairwise
from typing import Any

_LINES = re.compile(r"[^\n\r\u2028\u2029]*(?:[\n\r\u2028\u2029]+|\Z)")
# A break between a line as long as those of texts that are wrapped and one that is no item; is it within a sentence?
_WRAPPED = re.compile(r"(?<=[^\n\r]{40})\r?\n(?=\S)(?!\(?(?:[A-Za-z]|[ivx]{1,4})[.):]|o\s)")
# The script of a line picks the rules where no language is named, or one of another script.
_SCRIPTS = {
    "ja": r"[\u3040-\u30ff]", "zh": r"[\u3400-\u9fff\uf900-\ufaff]", "en": r"[A-Za-z\u00c0-\u024f\uac00-\ud7af]",
    "ar": r"[\u0600-\u06ff]", "hi": r"[\u0900-\u0dff]", "ru": r"[\u0400-\u052f]", "el": r"[\u0370-\u03ff]",
    "hy": r"[\u0530-\u058f]", "am": r"[\u1200-\u137f]", "my": r"[\u1000-\u109f]", "th": r"[\u0e00-\u0eff\u1780-\u17ff]",
}  # fmt: skip
_LETTERS = {code: re.compile(pattern) for code, pattern in _SCRIPTS.items()}
_SAME_SCRIPT = {
    "en": {"da", "de", "es", "fr", "it", "nl", "pl", "sk"}, "ru": {"bg", "kk"}, "ar": {"fa", "ur"}, "hi": {"mr"},
}  # fmt: skip
# Frequent words that tell languages of one script apart, for they abbreviate and count differently ("am 3. Mai").
_WORDS = {
    "en": "the and of is that for with", "de": "der die das und nicht ist ein den mit", "fr": "le les des et est une dans",
    "es": "el los las y es una del que", "it": "il che di è una per gli della", "nl": "het een van en niet dat zijn",
    "da": "og det er ikke af til den", "pl": "nie się jest na że to oraz", "sk": "je sa nie na že ako alebo",
}  # fmt: skip
_FREQUENT = {code: frozenset(words.split()) for code, words in _WORDS.items()}
_GUESSED = 5000  # characters of a text that show its language
_AT_ONCE = 3000  # characters given to pysbd at a time: its time grows with the square of a line
_ENDS = re.compile(r"(?:[.!?…]+[\"'”’»)\]]*(?:\s+|\Z)|[。！？｡।॥؟۔።။]+[\"'”’»」』）)\]]*\s*)")
_ENDED = re.compile(r"[.!?…:;。！？｡।॥؟۔։።၊။][\"'”’»」』）)\]*_]*\Z")
_CLAUSES = re.compile(r"(?<=[\u0e00-\u0eff\u1780-\u17ff])\s+(?=[\u0e00-\u0eff\u1780-\u17ff])|[!?។៕]+\s*|\.\s+")
_CLAUSE = 40  # characters that a span of clauses has at least, so that no claim is cut into words
_CLOSING = "”’»」』）)]"
_MARKER = re.compile(r"\s*(?:[-*•–—+>|]|#+|\(?\d{1,3}[.):]|\(?[A-Za-z][.)])\s*")


def sentences(text: str, language: str = "") -> list[tuple[int, int]]:
    """(start, end) of every sentence, in order; the first begins at 0, each ends where the next begins, the last at the end.

    `language` is a code such as `de` or `de-AT`; without one script and frequent words decide. A line break ends a
    sentence, but for one that wraps a long line; list markers belong to the sentence behind them, signs without a
    letter or digit to the one before. A text of blanks is one span, "" is none.
    """
    cuts: list[int] = []
    language = re.split("[-_]", language.casefold())[0] or _guessed(text)
    for line in _LINES.finditer(_WRAPPED.sub(_unwrapped, text)):
        if line.group():
            cuts += [line.start() + end for end in _line(line.group(), language)]
    return _joined(text, cuts)


def _unwrapped(line_break: re.Match[str]) -> str:
    """A blank in place of a line break within a sentence: a long line that goes on in small letters."""
    before, behind = line_break.string[line_break.start() - 1], line_break.string[line_break.end()]
    goes_on = behind.islower() and (before.isalnum() or before == ",")
    return " " * len(line_break.group()) if goes_on else line_break.group()


def rough_sentences(text: str) -> list[str]:
    """The text in pieces of about a sentence, without a library: for a count, not for a judge."""
    ends = [0, *(match.end() for match in _ENDS.finditer(text)), len(text)]
    pieces = (text[start:end].strip() for start, end in pairwise(ends))
    return [piece for piece in pieces if any(map(str.isalnum, piece))]


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The same span without blanks around it."""
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), end - (len(inside) - len(inside.rstrip()))


def _guessed(text: str) -> str:
    """The language whose frequent words a text in Latin script has most of; English where that is close."""
    words = Counter(re.findall(r"[^\W\d_]+", text[:_GUESSED].casefold()))
    counts = {code: sum(words[word] for word in frequent) for code, frequent in _FREQUENT.items()}
    best = max(counts, key=lambda code: counts[code])
    return best if counts[best] > 1.5 * counts["en"] else "en"


def _line(line: str, language: str) -> list[int]:
    """Where the sentences of a line end; the last end is that of the line."""
    code = _rules(line, language)
    if code == "th":
        return _clauses(line)
    ends: list[int] = []
    at = 0
    while len(line) - at > _AT_ONCE:
        near = [match.end() for match in _ENDS.finditer(line, at, at + _AT_ONCE)]
        to = near[-1] if near else at + _AT_ONCE
        ends += [at + end for end in _piece(line[at:to], code)]
        at = to
    return [*ends, *(at + end for end in _piece(line[at:], code))] if line[at:] else ends


def _rules(line: str, language: str) -> str:
    """The code of the rules for a line."""
    counts = {code: len(letters.findall(line)) for code, letters in _LETTERS.items()}
    if counts["ja"]:  # Japanese is written with the characters of Chinese as well
        counts["ja"] += counts["zh"]
    code = max(counts, key=lambda name: counts[name])
    return language if language in _SAME_SCRIPT.get(code, ()) else code if counts[code] else "en"


@cache
def _segmenter(code: str) -> Any:
    import pysbd

    return pysbd.Segmenter(language=code, clean=False)


def _piece(text: str, code: str) -> list[int]:
    """Where pysbd ends sentences; it drops some rare signs, and a text that it does not give back whole is cut plainly."""
    ends: list[int] = []
    at = 0
    for made in _segmenter(code).segment(text):
        sentence = made.strip()
        found = text.find(sentence, at)
        if found < 0 or text[at:found].strip():
            return _plainly(text)
        at = found + len(sentence)
        at += len(text[at:]) - len(text[at:].lstrip())
        if at == len(text) or _ENDED.search(sentence):  # it takes "am 3. Mai, am 4. Mai" for a list
            ends.append(at)
    return ends if ends and at == len(text) else _plainly(text)


def _plainly(text: str) -> list[int]:
    ends = [match.end() for match in _ENDS.finditer(text)]
    return ends if ends and ends[-1] == len(text) else [*ends, len(text)]


def _clauses(line: str) -> list[int]:
    ends: list[int] = []
    at = 0
    for match in _CLAUSES.finditer(line):
        if match.end() - at >= _CLAUSE:
            at = match.end()
            ends.append(at)
    return ends if ends and ends[-1] == len(line) else [*ends, len(line)]


def _joined(text: str, ends: list[int]) -> list[tuple[int, int]]:
    """Spans that can stand alone: markers go with what follows, closing quotation marks and bare signs with what precedes."""
    spans: list[tuple[int, int]] = []
    open_from: int | None = None  # where markers begin that wait for their sentence
    for start, end in pairwise([0, *ends]):
        closing = len(text[start:end]) - len(text[start:end].lstrip(_CLOSING))
        if closing and spans and not text[start - 1].isspace():
            spans[-1] = (spans[-1][0], start + closing)
            start += closing
        if start == end:
            continue
        inside = text[start:end]
        if _MARKER.fullmatch(inside):
            open_from = start if open_from is None else open_from
        elif any(map(str.isalnum, inside)) or not (spans or open_from is not None):
            spans.append((start if open_from is None else open_from, end))
            open_from = None
        elif open_from is None:
            spans[-1] = (spans[-1][0], end)
    if open_from is not None:
        if spans and not any(map(str.isalnum, text[open_from:])):
            spans[-1] = (spans[-1][0], len(text))
        else:
            spans.append((open_from, len(text)))
    starts = [0, *(start for start, _ in spans[1:])]
    return list(zip(starts, [*starts[1:], len(text)], strict=True)) if spans else []
