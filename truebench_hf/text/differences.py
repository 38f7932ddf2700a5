"""What became of a text when it was rewritten, word by word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import regex
from rapidfuzz.distance import Indel

# Words and other signs one by one; so are letters of scripts that set no blanks between words.
_ALONE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}"
Kind = Literal["same", "gone", "new"]
_TOKEN = regex.compile(rf"(?V1)[{_ALONE}]|[\w--[{_ALONE}]]+|[^\w\s]|\s+")


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
