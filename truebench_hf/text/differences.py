"""What two texts have in common word by word, and what only one of them has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import regex
from rapidfuzz.distance import Indel

# Words and other signs one by one; so are letters of scripts that set no blanks between words.
_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}"
_SIGN = rf"(?V1)[{_ALONE}]|[\w--[{_ALONE}]]+|[^\w\s]"
_WORD = regex.compile(_SIGN)
_MOST = 20_000  # words of both answers: beyond, comparing takes longer than visitors wait
_SHORTEST = 3  # words in common, in a row, between two differences; fewer are chance
Pieces = tuple[tuple[str, bool], ...]


def differing(first: str, second: str) -> tuple[Pieces, Pieces, float | None]:
    """Both texts in pieces, each with whether the other lacks it; and the share of the words of both that they have in common.

    The share is None where the texts are too long to be compared; then nothing is marked.
    """
    matches = [list(_WORD.finditer(text)) for text in (first, second)]
    words = [[match[0] for match in of_text] for of_text in matches]
    total = sum(map(len, words))
    if total > _MOST:
        return ((first, False),), ((second, False),), None
    common = _common(*words)
    shared = 2 * sum(end - start for start, end, _ in common) / total if total else 1.0
    ours = [(start, end) for start, end, _ in common]
    theirs = [(at, at + end - start) for start, end, at in common]
    return _pieces(first, matches[0], ours), _pieces(second, matches[1], theirs), shared


def _common(first: list[str], second: list[str]) -> list[tuple[int, int, int]]:
    """(start, end, start in the other) of what both have; short chance meetings between differences left out."""
    blocks = [(b.src_start, b.src_end, b.dest_start) for b in Indel.opcodes(first, second) if b.tag == "equal"]
    last = (len(first), len(second))
    return [
        (start, end, at) for start, end, at in blocks
        if end - start >= _SHORTEST or (start, at) == (0, 0) or (end, at + end - start) == last
    ]  # fmt: skip


def _pieces(text: str, matches: list[regex.Match[str]], common: list[tuple[int, int]]) -> Pieces:
    """The text cut where the common words begin and end; the space around them belongs to what is common."""
    pieces, done, word = list[tuple[str, bool]](), 0, 0
    for start, end in [*common, (len(matches), len(matches))]:
        if word < start:
            begin, finish = matches[word].start(), matches[start - 1].end()
            pieces += [(text[done:begin], False), (text[begin:finish], True)]
            done = finish
        word = end
    pieces.append((text[done:], False))
    return tuple(piece for piece in pieces if piece[0])


Kind = Literal["same", "gone", "new"]
_TOKEN = regex.compile(rf"{_SIGN}|\s+")


class Piece(NamedTuple):
    """A piece of the old text, of the new one, or of both."""

    kind: Kind
    text: str


def difference(old: str, new: str) -> list[Piece]:
    """The new text, with what is gone in its old place and before what is new there. What is the same is the longest that the texts share."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    pieces: list[Piece] = []
    gone, come = "", ""
    for op in Indel.opcodes(before, after):
        was, now = "".join(before[op.src_start : op.src_end]), "".join(after[op.dest_start : op.dest_end])
        if op.tag == "equal" and (not (gone or come) or now.strip()):
            pieces += [*_changed(gone, come), Piece("same", now)]
            gone, come = "", ""
            continue
        # A blank between two changed words parts nothing: the words are read as one change.
        gone, come = gone + was, come + now
    return [*pieces, *_changed(gone, come)]


def _changed(gone: str, come: str) -> Iterator[Piece]:
    if gone == come:
        return iter([Piece("same", gone)] if gone else [])
    return iter([piece for piece in (Piece("gone", gone), Piece("new", come)) if piece.text])
