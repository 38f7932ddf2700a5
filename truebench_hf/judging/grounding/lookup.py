"""What a judge quotes, looked up in the source by program, piece by piece: exactly, then by likeness.

A quotation may be several pieces, set off by an ellipsis, by quotation marks or lines, or simply one behind the other as
the paper's templates ask for (appendix A). Exactly means but for blanks, quotation marks, dashes, emphasis and letter case.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache

from rapidfuzz import fuzz
from rapidfuzz.distance import Indel, Levenshtein

from truebench_hf.judging.grounding.folding import Folded, cuts, folded, unspaced
from truebench_hf.judging.grounding.types import Excerpt, Source
from truebench_hf.judging.sentences import sentences

_AT_ONCE = 600  # characters that likeness is looked for at a time: its time grows with their square
LIKE = 0.9  # the least likeness of a piece that is found but not exactly
_LONG = 16  # folded characters of a piece that likeness can tell from others
_RUN, _UNSPACED_RUN = 20, 8  # and of pieces that stand one behind the other without a sign between
_OWN_WORD = 75  # likeness in percent of a word to one in the source, below which the judge has put it in
_DOTS = r"(?:\.\s?){2,}\.|…+|(?:⋯)+"
_APART = re.compile(
    rf"\s*(?:[\[(]\s*(?:{_DOTS})\s*[\])]|{_DOTS}|[\n\r]+(?:\s*(?:[-*•]|\d{{1,2}}[.)])\s)?"
    r"|[\"”»」]\s*(?:[,;&+/|]|and|und|et|y)?\s*[\"“„«「])\s*"
)
# What a judge puts before an excerpt of its own accord: a bullet, the first number of a list, where it comes from.
_BULLET = re.compile(
    r"\A(?:[-*•]\s+|1[.)]\s+(?=[\s\S]*\n\s*2[.)]\s)|(?:passage|document|context|source)\s*[\w.-]{0,20}\s*:\s+|\[\w{1,20}\]\s*)",
    re.IGNORECASE,
)
_STOP = re.compile(r"[.!?。！？।؟:;,\n\r|]")
_SENTENCE_END = re.compile(r"[.!?](?=\s)|[。！？।؟\n\r]")
_NUMBER = re.compile(r"(?:(?<!\w)[-−–])?\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+")
_NOT = re.compile(
    r"n['’]t\b|\b(?:not|no|never|none|nor|without|nicht|kein\w*|nie|niemals|ohne|ne|pas|jamais|sans|non|mai|nunca|sin|não|"
    r"nem|sem|не|нет|ни|без|nie|bez|không|chưa)\b|不|没|無|ない|ません|않|없|아니|못",
    re.IGNORECASE,
)


def looked_up(source: Source, quotes: Iterable[str]) -> tuple[Excerpt, ...]:
    """Every piece of the quotations, with where it stands in the source: system, document or passages, and request."""
    parts = tuple(source.parts())
    return tuple(excerpt for quote in quotes for excerpt in _pieces(parts, quote))


Parts = tuple[tuple[str, str], ...]


@lru_cache(maxsize=8)  # one verdict looks up many excerpts in one source
def _folded(text: str) -> Folded:
    return folded(text)


def _pieces(parts: Parts, quote: str) -> Iterator[Excerpt]:
    """The quotation as one where it stands so in the source, else its pieces."""
    quote = quote.strip()
    if whole := _exact(parts, quote):
        yield whole
        return
    for piece in filter(_says, _APART.split(_BULLET.sub("", quote))):
        yield from _found(parts, piece)


def _found(parts: Parts, piece: str) -> list[Excerpt]:
    """A piece exactly, or as several that stand elsewhere, or by likeness: a long one sentence by sentence."""
    if found := _exact(parts, piece):
        return [found]
    if runs := _runs(parts, piece):
        return runs
    if len(piece) <= _AT_ONCE:
        return [_like(parts, piece)]
    cut = (piece[start:end].strip() for start, end in sentences(piece))
    short = (part[i : i + _AT_ONCE] for part in cut for i in range(0, len(part), _AT_ONCE))
    return [excerpt for part in short if _says(part) for excerpt in _found(parts, part)]


def _says(piece: str) -> bool:
    return any(map(str.isalnum, piece))


def _exact(parts: Parts, piece: str) -> Excerpt | None:
    needle = folded(piece).text.strip(".,;:")
    return next(_places(parts, piece, needle), None) if _says(needle) else None


def _places(parts: Parts, piece: str, needle: str) -> Iterator[Excerpt]:
    """Where the folded text stands in the source, not as a part of a longer word or number."""
    for place, text in parts:
        hay = _folded(text)
        at = hay.text.find(needle)
        while at >= 0:
            start, end = hay.at[at], hay.at[at + len(needle) - 1] + 1
            if not cuts(text, start) and not cuts(text, end):
                yield Excerpt(piece, True, 1.0, place, start, end)
                break
            at = hay.text.find(needle, at + 1)


def _runs(parts: Parts, piece: str) -> list[Excerpt]:
    """A piece as excerpts that stand one behind the other in it, but elsewhere in the source; none where it is not so.

    Where two meet, one of them begins or ends with a sentence of the source: who leaves a word out makes no two excerpts.
    """
    found: list[Excerpt] = []
    rest = piece
    while _says(rest):
        run = _longest(parts, rest)
        if run is None or (found and not _meet(parts, found[-1], run)):
            return []
        found.append(run)
        rest = rest[len(run.text) :].lstrip(" \t.,;:–—-/|")
    return found if len(found) > 1 else []


def _longest(parts: Parts, rest: str) -> Excerpt | None:
    """The longest beginning of `rest`, in whole words, that stands in the source and is long enough to mean a place.

    Where it goes on behind the end of a sentence by a few words only, which a place may share by chance, it ends there.
    """
    by_sign = any(map(unspaced, rest))
    ends = list(range(1, len(rest) + 1)) if by_sign else [match.end() for match in re.finditer(r"\S+", rest)]
    low, high = 0, len(ends)
    while low < high:  # what begins with a text that is not there is not there either
        middle = (low + high) // 2
        needle = folded(rest[: ends[middle]]).text.strip(".,;:")
        low, high = (middle + 1, high) if any(needle in _folded(text).text for _, text in parts) else (low, middle)
    least = _UNSPACED_RUN if by_sign else _RUN
    for end in ends[:low][-1:-4:-1]:
        if found := _exact(parts, rest[:end]):
            shorter = _to_last_stop(parts, rest, found, least) if end < len(rest) else None
            best = shorter or found
            return best if len(folded(best.text).text) >= least else None
    return None


def _to_last_stop(parts: Parts, rest: str, run: Excerpt, least: int) -> Excerpt | None:
    """The run without the few words by which it goes on behind the last sentence or line that ends in it."""
    stops = [match.end() for match in _SENTENCE_END.finditer(dict(parts)[run.place], run.start, run.end)]
    kept = len(folded(dict(parts)[run.place][run.start : stops[-1]]).text) if stops else 0
    there = folded(rest)
    if kept < least or len(folded(run.text).text) - kept >= least or kept >= len(there.text):
        return None
    return _exact(parts, rest[: there.at[kept]].rstrip())


def _meet(parts: Parts, first: Excerpt, second: Excerpt) -> bool:
    texts = dict(parts)
    behind = texts[first.place][first.end - 1 : first.end + 1]
    before = texts[second.place][: second.start].rstrip(" \t\"'“”«»*_-•")
    return (
        _STOP.search(behind) is not None
        or first.end == len(texts[first.place])
        or not before
        or _STOP.match(before[-1]) is not None
    )


def _like(parts: Parts, piece: str) -> Excerpt:
    """The place most like a piece; found where it is alike enough and holds the same numbers and no less or more denial."""
    needle = folded(piece).text
    if len(needle) < _LONG:
        return Excerpt(piece, False)
    best = Excerpt(piece, False)
    for place, text in parts:
        hay = _folded(text)
        match = fuzz.partial_ratio_alignment(needle, hay.text) if len(hay.text) >= len(needle) else None
        if match is None or match.score / 100 <= best.ratio:
            continue
        start, end = _place(text, hay, needle, match.dest_start, match.dest_end)
        ratio = min(match.score / 100, 0.999)  # 1 is said of what stands there exactly
        best = Excerpt(piece, ratio >= LIKE and _same_facts(piece, text[start:end]), round(ratio, 3), place, start, end)
    return best if best.found else Excerpt(piece, False, best.ratio)


def _place(text: str, hay: Folded, needle: str, start: int, end: int) -> tuple[int, int]:
    """The offsets in a text of what is like the needle between two places of its folded form, to the ends of words."""
    equal = [op for op in Indel.opcodes(needle, hay.text[start:end]) if op.tag == "equal"]
    first, last = start + equal[0].dest_start, start + equal[-1].dest_end
    begin, stop = hay.at[first], hay.at[last - 1] + 1
    while cuts(text, begin):
        begin -= 1
    while cuts(text, stop):
        stop += 1
    return begin, stop


def _same_facts(piece: str, place: str) -> bool:
    """Whether a piece has the numbers and denials of a place, and no word that is like none there."""
    numbers = [Counter(re.sub("[−–]", "-", one) for one in _NUMBER.findall(text)) for text in (piece, place)]
    if numbers[0] != numbers[1]:
        return False
    if len(_NOT.findall(piece)) != len(_NOT.findall(place)):
        return False
    there = set(map(str.casefold, _WORD.findall(place)))
    own = (word for word in map(str.casefold, _WORD.findall(piece)) if word not in there)
    return all(any(_alike(word, other) for other in there) for word in own)


def _alike(word: str, other: str) -> bool:
    return Levenshtein.distance(word, other, score_cutoff=1) <= 1 or fuzz.ratio(word, other) >= _OWN_WORD
