"""The text of a criterion, made ready for patterns: one kind of blanks, literals out of the way, notes and clauses apart.

    prepared('The words "a, b" must not be used (no quotes).')  # Text(("the words ⟦0⟧ must not be used",), (Quoted("a, b"),), True)

Only English is read. What stands in quotation marks is a literal: it says nothing of how the criterion is meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

LONGEST = 400  # characters of a criterion that is read; longer ones are lists of demands
LITERAL = r"⟦\d+⟧"

_QUOTED = re.compile(
    r'["“”„«»][ ]?(?P<double>[^"“”„«»\n]{1,120}?)[ ]?["“”«»]'
    r"|「(?P<corner>[^」\n]{1,120})」|『(?P<white>[^』\n]{1,120})』|`(?P<code>[^`\n]{1,120})`|‘(?P<single>[^‘’\n]{1,120})’"
    r"|(?<!\w)'(?P<plain>[^'\n]{1,120}(?:(?<=[^\W\d_])'(?=[^\W\d_])[^'\n]{1,120})*)'(?!\w)"
)
_NOT = (
    ("can't", "cannot"),
    ("won't", "will not"),
    ("shan't", "shall not"),
    ("n't", " not"),
    ("can not", "cannot"),
    ("may not", "must not"),
)
_CURLY = str.maketrans(
    {"’": "'", "\u00a0": " ", "–": "-", "—": "-", "‑": "-", "−": "-", "≤": "at most ", "≥": "at least "}
)
# Notes that ask for nothing of their own: examples, how to count, and what a thing is.
_IDLE = re.compile(
    r"\((?:(?:e\.g\.|i\.e\.|eg|ie|for example|for instance)[^()]*|bullets?, dashes,?(?: etc\.?)?|etc\.?|each hashtag starts with #|"
    r"question mark|exclamation mark|period|comma|[?!.,;:]|\d+)\)",
    re.IGNORECASE,
)
_HOW = re.compile(
    r"\(((?:(?:including|excluding|counting|not counting|with|without|no) (?:the )?(?:blank )?spaces?|spaces? (?:included|excluded)))\)",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?])\s+(?=[A-ZÀ-ÖØ-ÞА-Я⟦])|\s*\n\s*|\s*;\s*")
_NUMBERED = re.compile(r"^(?:[-*•]|\(?\d{1,2}[.)])\s+")


class Quoted(NamedTuple):
    """A literal, and the `mark` at its end that may belong to it or, as Americans write, to the sentence around it."""

    text: str
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """Sentences of a criterion in lower case, with ⟦n⟧ for its n-th literal. Not `whole`: some of the text was left out."""

    sentences: tuple[str, ...]
    literals: tuple[Quoted, ...]
    whole: bool


def prepared(criterion: str) -> Text | None:
    """The text of a criterion for patterns; None where it is empty or too long to be one demand."""
    text = criterion.translate(_CURLY_KEEPING_QUOTES).strip()
    if not text or len(text) > LONGEST or "⟦" in text or "⟧" in text:
        return None
    literals: list[Quoted] = []

    def kept(match: re.Match[str]) -> str:
        said = next(group for group in match.groups() if group is not None).strip()
        if not said:
            return '"'
        outside = ""
        if (
            said[-1:] in (".", ",")
            and len(said) > 1
            and not said.endswith("..")
            and _inside(text, match.end(), said[-1])
        ):
            said, outside = said[:-1], said[-1]
        literals.append(Quoted(said, outside))
        return f"⟦{len(literals) - 1}⟧{outside}"

    text = _QUOTED.sub(kept, text).translate(_CURLY)
    text = _HOW.sub(lambda match: f" {match[1]} ", _IDLE.sub(" ", text))
    whole = "(" not in text and "[" not in text
    text = re.sub(r"\([^()]*\)", " ", text)
    sentences = [said for sentence in _END.split(text) if (said := _plain(sentence))]
    return Text(tuple(sentences), tuple(literals), whole and '"' not in text) if sentences else None


_CURLY_KEEPING_QUOTES = str.maketrans({"\u00a0": " ", "\u200b": "", "\ufeff": "", "\r": "\n"})


def _inside(text: str, end: int, mark: str) -> bool:
    """Whether a mark before the closing quotation mark belongs to the sentence, as Americans write it."""
    behind = text[end : end + 1]
    return not text[end:].strip() if mark == "." else behind in ("", " ")


def _plain(sentence: str) -> str:
    text = _NUMBERED.sub("", sentence.strip()).lower()
    for short, long in _NOT:
        text = text.replace(short, long)
    return " ".join(text.split()).rstrip(" .!,:")
