"""Texts without what does not matter when one is looked for in the other, with the way back to their offsets."""

from __future__ import annotations

import unicodedata
from array import array
from dataclasses import dataclass
from functools import cache

_DROPPED = frozenset("\"'`´*_#«»‹›“”„‟‘’‚‛「」『』〝〞〟＂＇′″")
_DASHES = frozenset("-‐‑‒–—―−﹘﹣－")


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` is the folded form of a text, `at[i]` the offset in the original of its i-th character."""

    text: str
    at: array[int]


def folded(text: str) -> Folded:
    """A text without blanks, quotation marks, emphasis and unseen signs, in small letters, with dashes of one kind."""
    made: list[str] = []
    at = array("I")
    for i, sign in enumerate(text):
        for plain in _plain(sign):
            made.append(plain)
            at.append(i)
    return Folded("".join(made), at)


@cache
def _plain(sign: str) -> str:
    if sign.isspace() or sign in _DROPPED or unicodedata.category(sign) in ("Cf", "Cc"):
        return ""
    if sign in _DASHES:
        return "-"
    return unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", sign).casefold())


def cuts(text: str, at: int) -> bool:
    """Whether a word or a number goes on over this offset; scripts without blanks have no such words."""
    if not 0 < at < len(text):
        return False
    before, behind = text[at - 1], text[at]
    if before in ".," and behind.isdigit():
        return at > 1 and text[at - 2].isdigit()
    if before.isdigit() and behind in ".,":
        return at + 1 < len(text) and text[at + 1].isdigit()
    return all(sign.isalnum() and not unspaced(sign) for sign in (before, behind))


def unspaced(sign: str) -> bool:
    """Whether a sign is of a script whose words stand without blanks between them."""
    return "\u0e00" <= sign <= "\u0eff" or "\u1000" <= sign <= "\u109f" or "\u1780" <= sign <= "\u17ff" or (
        "\u3040" <= sign <= "\u9fff"
    )  # fmt: skip
