"""A text without the marks of Markdown, which some count and others do not see."""

from __future__ import annotations

import regex

from truebench_hf.normal_form import normal_form

NEWLINES = regex.compile(r"\r\n|[\r\u2028\u2029\v\f\x85]")
INVISIBLE = regex.compile(r"[\u200b\u2060\ufeff\u00ad]")  # the joiners stay: they are part of words and of emoji
RULE_LINE = regex.compile(r"[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}|[─━—–]{3,})[ \t]*")
FENCE_LINE = regex.compile(r"[ \t]*(?:`{3,}|~{3,})[^`]*")
HEADING = regex.compile(r"[ \t]{0,3}#{1,6}[ \t]+\S.*")
BOLD_LINE = regex.compile(r"[ \t]*(?:\*\*|__)[^*_\n]+(?:\*\*|__)[ \t]*[:：]?[ \t]*")
_GRID_LINE = regex.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_LINE_MARKS = regex.compile(r"^[ \t]*(?:>[ \t]?)*(?:#{1,6}[ \t]+)?", regex.MULTILINE)
_LINK = regex.compile(r"!?\[([^\]\[\n]{0,500})\]\([^()\s]{0,500}(?:[ \t]+\"[^\"\n]{0,200}\")?\)")
_TAG = regex.compile(r"</?[A-Za-z][A-Za-z0-9-]{0,20}(?:[ \t][^<>\n]{0,200})?/?>|<!--.{0,500}?-->", regex.DOTALL)
_BOLD = tuple(
    regex.compile(rf"{mark}(?=\S)([^{mark[-1]}\n]{{1,1000}})(?<=\S){mark}")
    for mark in (r"`", r"\*\*\*", r"\*\*", r"\*", r"\*\*", "__", "~~")
)
_UNDERLINE = regex.compile(r"(?<![\p{L}\p{N}_])_(?=\S)([^_\n]{1,1000}?)(?<=\S)_(?![\p{L}\p{N}_])")


def tidy(text: str) -> str:
    """The text composed (NFC), with line breaks of one kind, and without what nobody sees and blanks at its ends."""
    return str(INVISIBLE.sub("", NEWLINES.sub("\n", normal_form("NFC", text)))).strip()


def plain(text: str) -> str:
    """The text as a page shows it: without marks of emphasis, headings, quotations, links, tags, code and tables."""
    kept = [line for line in text.split("\n") if not (_bare(line) or FENCE_LINE.fullmatch(line))]
    text = _LINE_MARKS.sub("", "\n".join(kept))
    text = _TAG.sub("", _LINK.sub(r"\1", text))
    for mark in (*_BOLD, _UNDERLINE):
        text = mark.sub(r"\1", text)
    return "\n".join(_cells(line) if line.count("|") > 1 else line for line in text.split("\n")).strip()


def _bare(line: str) -> bool:
    """Whether a line only draws something."""
    return bool(RULE_LINE.fullmatch(line) or ("-" in line and "|" in line and _GRID_LINE.fullmatch(line)))


def _cells(line: str) -> str:
    return " ".join(cell.strip() for cell in line.split("|") if cell.strip())
