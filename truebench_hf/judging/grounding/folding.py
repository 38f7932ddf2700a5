"""Texts without what does not matter when one is looked for in the other, with the way back to their offsets."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from functools import cache

_DROPPED = frozenset("\"'`´*_#«»‹›“”„‟‘’‚‛「」『』〝〞〟＂＇′″")
_DASHES = frozenset("-‐‑‒–—―−﹘﹣－")


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` is the folded form of a text, `at[i]` the offset in the original of its i-th character."""

    text: str
    at: list[int]


def folded(text: str) -> Folded:
    """A text without blanks, quotation marks, emphasis and unseen signs, in small letters, with dashes of one kind."""
    made, at = [], []
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
