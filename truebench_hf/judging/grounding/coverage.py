"""Where the sentences that a judge names stand in the answer, and what of the answer it left out."""

from __future__ import annotations

import re
import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from rapidfuzz import fuzz

from truebench_hf.judging.grounding.folding import Folded, cuts, folded

_LIKE = 90  # percent of likeness by which a sentence with a slip of the pen is still that of the answer
_LONG = 16  # letters from which on likeness means something
_TRIES = 200  # places in other words that a short sentence is tried at
_ITEM = re.compile(r"(?:\d{1,3}|[A-Za-z])[.):]")
_NOTE = re.compile(r"(?:\[\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]\s*)+")
_SIDES = "\"'“”‘’«»「」『』()（）[]*_`#.!?。！？…,;:"


@dataclass(frozen=True, slots=True)
class Placed:
    """`spans[i]` is (start, end) in the answer of sentence i, None where it is not there; `missing` texts have no sentence."""

    spans: tuple[tuple[int, int] | None, ...]
    missing: tuple[str, ...]


def placed(answer: str, sentences: Sequence[str]) -> Placed:
    """Each sentence at its first place behind the one before, else at the first that no other sentence has.

    Letters and digits alone decide, so that emphasis, blanks, quotation marks and list markers may differ.
    """
    hay = _letters(answer)
    free = [True] * len(hay.text)
    spans: list[tuple[int, int] | None] = []
    cursor = 0
    for sentence in sentences:
        place = _find(answer, hay, _letters(sentence).text, cursor, free)
        if place is None:
            spans.append(None)
            continue
        free[place[0] : place[1]] = [False] * (place[1] - place[0])
        cursor = place[1]
        spans.append(_with_signs(answer, hay.at[place[0]], hay.at[place[1] - 1] + 1))
    return Placed(tuple(spans), tuple(_missing(answer, hay, free)))


def _letters(text: str) -> Folded:
    whole = folded(text)
    kept = [i for i, sign in enumerate(whole.text) if sign.isalnum() or unicodedata.category(sign)[0] == "M"]
    return Folded("".join(whole.text[i] for i in kept), array("I", (whole.at[i] for i in kept)))


def _find(answer: str, hay: Folded, needle: str, cursor: int, free: list[bool]) -> tuple[int, int] | None:
    """(start, end) in the letters of the answer."""
    if not needle:
        return None
    for begin in (cursor, 0):
        for at in islice(_occurrences(hay.text, needle, begin), _TRIES):
            end = at + len(needle)
            whole = not cuts(answer, hay.at[at]) and not cuts(answer, hay.at[end - 1] + 1)
            if whole and all(free[at:end]):
                return at, end
    if len(needle) < _LONG or len(needle) > len(hay.text) * 1.1:
        return None
    match = fuzz.partial_ratio_alignment(needle, hay.text, score_cutoff=_LIKE)
    if match is None or len(needle) > len(hay.text) or not all(free[match.dest_start : match.dest_end]):
        return None
    return match.dest_start, match.dest_end


def _occurrences(text: str, needle: str, begin: int) -> Iterator[int]:
    at = text.find(needle, begin)
    while at >= 0:
        yield at
        at = text.find(needle, at + 1)


def _with_signs(answer: str, start: int, end: int) -> tuple[int, int]:
    """The span with the quotation marks and stops that belong to it."""
    while end < len(answer) and answer[end] in _SIDES:
        end += 1
    while start and answer[start - 1] in _SIDES and answer[start - 1] not in ".!?。！？…,;:)]）":
        start -= 1
    return start, end


def _missing(answer: str, hay: Folded, free: list[bool]) -> list[str]:
    """The texts that no sentence covers, but for markers of lists and notes."""
    left: list[str] = []
    i = 0
    while i < len(free):
        if not free[i]:
            i += 1
            continue
        j = i
        while j < len(free) and free[j]:
            j += 1
        left += _lines(answer, hay.at[i], hay.at[j - 1] + 1)
        i = j
    return left


def _lines(answer: str, start: int, end: int) -> list[str]:
    """The texts between two offsets, line by line, without the markers of list items and notes such as [2]."""
    left: list[str] = []
    at = start
    for line in answer[start:end].splitlines(keepends=True):
        begin, stop = at, at + len(line.rstrip())
        at += len(line)
        while stop < len(answer) and answer[stop] in _SIDES:
            stop += 1
        begin -= answer[begin - 1 : begin] == "["
        text = answer[begin:stop].strip()
        opens = not answer[:begin].rpartition("\n")[2].strip(" \t*_#>-•")
        if any(map(str.isalnum, text)) and not (
            _NOTE.fullmatch(text.rstrip(".,;")) or (opens and _ITEM.fullmatch(text))
        ):
            left.append(text)
    return left
