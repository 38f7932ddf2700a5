"""A text of which some pieces are marked: what a judge found of each, and what it holds beside them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

Tone = Literal["yes", "no", "open", "none", ""]  # good, bad, undecided or doubtful, nothing to judge; "": not marked


@dataclass(frozen=True, slots=True)
class Mark:
    """A piece of a text. `word` names what was found ("unsupported"), `note` says why, `beside` holds excerpts as they
    are shown: “the text” (where it stands)."""

    text: str
    tone: Tone = ""
    word: str = ""
    note: str = ""
    beside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Marked:
    """A whole text in pieces, in its order, as one `judge` sees it."""

    judge: str
    marks: tuple[Mark, ...]


def filled(text: str, marks: Iterable[tuple[int | None, Mark]]) -> tuple[Mark, ...]:
    """`marks` by where they begin in `text`, and the text between them; those without a place, or one taken, come last."""
    placed: list[tuple[int, Mark]] = []
    others: list[Mark] = []
    end = 0
    found = list(marks)
    for start, mark in sorted((pair for pair in found if pair[0] is not None), key=_start):
        if start is not None and start >= end and text.startswith(mark.text, start):
            placed.append((start, mark))
            end = start + len(mark.text)
        else:
            others.append(mark)
    others += [mark for start, mark in found if start is None]
    return (*_with_gaps(text, placed), *others)


def _start(pair: tuple[int | None, Mark]) -> int:
    return pair[0] or 0


def _with_gaps(text: str, placed: Sequence[tuple[int, Mark]]) -> list[Mark]:
    made, end = [], 0
    for start, mark in placed:
        made += [Mark(text[end:start])] * (start > end)
        made.append(mark)
        end = start + len(mark.text)
    return made + [Mark(text[end:])] * (end < len(text))
