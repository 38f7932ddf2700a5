"""Where the sentences that a judge names stand in the answer, and where its quotations stand in the source.

Both are looked for exactly, and then by likeness: rapidfuzz's `partial_ratio_alignment` at 90 percent or more. Exactly
means but for blanks, quotation marks, dashes of another kind, emphasis, and letter case. Of a quotation, numbers and
denials are never another's for likeness: they make the difference between what a source says and what it does not.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice

from rapidfuzz import fuzz

from truebench_hf.judging.grounding.types import Excerpt, Source, Unit
from truebench_hf.judging.sentences import claims_nothing, sentence_spans

LEAST_LIKENESS = 90  # percent
_LIKENESS_FROM = 16  # folded characters from which on likeness tells a text from others
_MOST_PLACES = 200  # that a short sentence is tried at
_DROPPED = frozenset("\"'`´*_#«»‹›“”„‟‘’‚‛「」『』〝〞〟＂＇′″")
_DASHES = frozenset("-‐‑‒–—―−﹘﹣－")
_STOPS = ".,;:!?。！？،؛؟।()[]{}"
_SIDES = "\"'“”‘’«»「」『』()（）[]*_`#.!?。！？…,;:"
# Scripts without blanks between words.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff]")
_OMISSION = re.compile(r"\s*(?:[\[(]\s*(?:\.{3,}|…)\s*[\])]|\.{3,}|…|[\n\r]+(?:\s*(?:[-*•]|\d{1,2}[.)])\s)?)\s*")
_NOTE = r"\[\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]"  # a reference in the text
# Numbers, and words that deny, in the twelve languages of TRUEBench.
_DECISIVE = re.compile(
    r"\d+|\b(?:not|no|never|none|nor|cannot|without|nicht|nie|niemals|kein\w*|ohne|ne|pas|jamais|sans|nunca|sin|non|mai"
    r"|senza|não|sem|bez|не|нет|никогда|без|không|chưa)\b|n['’]t\b|[不没無无未]|ない|ません|않|없|금지",
    re.IGNORECASE,
)
_UNCLAIMED = "claims nothing: a heading, an announcement, a question or a courtesy"
_MARKER = re.compile(rf"^[ \t>*_#•-]*(?:\d{{1,3}}|[A-Za-z])[.):]|{_NOTE}", re.MULTILINE)


def unclaimed(answer: str) -> list[Unit]:
    """Return the sentences of an answer that claim nothing, labelled so without a judge."""
    spans = [(start, end) for start, end in sentence_spans(answer) if claims_nothing(answer[start:end])]
    return [Unit(answer[start:end], start, end, "no_rad", _UNCLAIMED) for start, end in spans]


def placed(answer: str, sentences: Sequence[str]) -> tuple[list[tuple[int, int] | None], list[str]]:
    """(start and end of each sentence in the answer, None where it is not there; the texts that have no sentence).

    A sentence stands at its first place behind the one before, else at the first that no other sentence has. Markers of
    list items and notes such as [2] need no sentence.
    """
    covered = bytearray(len(answer))
    spans: list[tuple[int, int] | None] = []
    cursor = 0
    for sentence in sentences:
        place = _free_place(answer, sentence, cursor, covered)
        if place:
            start, cursor = place
            end = cursor  # with the quotation marks and stops that belong to it
            while end < len(answer) and answer[end] in _SIDES:
                end += 1
            while start and answer[start - 1] in _SIDES and answer[start - 1] not in ".!?。！？…,;:)]）":
                start -= 1
            place = start, end
            covered[start:end] = b"\1" * (end - start)
        spans.append(place)
    for marker in _MARKER.finditer(answer):
        covered[marker.start() : marker.end()] = b"\1" * len(marker.group())
    rest = "".join("\n" if taken else sign for sign, taken in zip(answer, covered, strict=True))
    return spans, [line.strip() for line in rest.splitlines() if _has_words(line)]


def looked_up(source: Source, quotes: Iterable[str]) -> tuple[Excerpt, ...]:
    """Look up quotations in the system instruction, document or passages, and request.

    One that stands nowhere as a whole is looked up in pieces where it has line breaks or marks that words are left out.
    """
    parts = tuple(source.parts())

    def exact(piece: str) -> Excerpt | None:
        places = ((name, next(_exact_places(text, piece), None)) for name, text in parts)
        return next((Excerpt(piece, True, 1.0, name, *place) for name, place in places if place), None)

    def alike(piece: str) -> Excerpt:
        places = [
            (name, place) for name, text in parts
            if (place := _like_place(text, piece)) and _numbers_and_denials(text[place[0] : place[1]]) == _numbers_and_denials(piece)
        ]  # fmt: skip
        if not places:
            return Excerpt(piece, False)
        name, (start, end, ratio) = max(places, key=lambda named: named[1][2])
        return Excerpt(piece, True, ratio, name, start, end)

    excerpts: list[Excerpt] = []
    for quote in map(str.strip, quotes):
        pieces = [quote] if exact(quote) else _OMISSION.split(f"\n{quote}")
        excerpts += [exact(piece) or alike(piece) for piece in filter(_has_words, pieces)]
    return tuple(excerpts)


def _numbers_and_denials(text: str) -> Counter[str]:
    """The numbers and denials of a text, without references."""
    return Counter(map(str.casefold, _DECISIVE.findall(unicodedata.normalize("NFKC", re.sub(_NOTE, "", text)))))


def _free_place(answer: str, sentence: str, cursor: int, covered: bytearray) -> tuple[int, int] | None:
    for begin in (cursor, 0):
        for start, end in islice(_exact_places(answer, sentence, begin), _MOST_PLACES):
            if not any(covered[start:end]):
                return start, end
    place = _like_place(answer, sentence)
    return place[:2] if place and not any(covered[place[0] : place[1]]) else None


def _exact_places(text: str, piece: str, begin: int = 0) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the piece in the text from an offset on, where it is no part of a longer word or number."""
    (hay, offsets), needle = _folded(text), _needle(piece)
    at = hay.find(needle, bisect_left(offsets, begin)) if _has_words(needle) else -1
    while at >= 0:
        start, end = offsets[at], offsets[at + len(needle) - 1] + 1
        if not cuts(text, start) and not cuts(text, end):
            yield start, end
        at = hay.find(needle, at + 1)


def _like_place(text: str, piece: str) -> tuple[int, int, float] | None:
    """The place most like a piece as (start, end, likeness below 1), to the ends of words; None below 90 percent."""
    (hay, offsets), needle = _folded(text), _needle(piece)
    if not _LIKENESS_FROM <= len(needle) <= len(hay):
        return None
    match = fuzz.partial_ratio_alignment(needle, hay, score_cutoff=LEAST_LIKENESS)
    if match is None:
        return None
    start, end = offsets[match.dest_start], offsets[match.dest_end - 1] + 1
    while cuts(text, start):
        start -= 1
    while cuts(text, end):
        end += 1
    return start, end, round(min(match.score / 100, 0.999), 3)  # 1 is said of what stands there exactly


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, text))


@lru_cache(maxsize=16)  # one verdict looks up many texts in one source and one answer
def _folded(text: str) -> tuple[str, array[int]]:
    """(the folded form of a text, the offset of each of its characters in the original)."""
    folded = list(map(_plain, text))
    return "".join(folded), array("I", (offset for offset, plain in enumerate(folded) for _ in plain))


def _needle(piece: str) -> str:
    return "".join(map(_plain, piece)).strip(_STOPS)


@cache
def _plain(sign: str) -> str:
    if sign.isspace() or sign in _DROPPED or unicodedata.category(sign) in ("Cf", "Cc"):
        return ""
    if sign in _DASHES:
        return "-"
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", sign).casefold())


def cuts(text: str, at: int) -> bool:
    """Return whether a word or a number goes on over this offset; scripts without blanks have no such words."""
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    if before in ".," and behind.isdigit():
        return at > 1 and text[at - 2].isdigit()
    if before.isdigit() and behind in ".,":
        return at + 1 < len(text) and text[at + 1].isdigit()
    return all(sign.isalnum() and not _UNSPACED.match(sign) for sign in (before, behind))
