"""Lines, paragraphs and list items of a text: as parts to measure, and how many there are.

A line is what line breaks set apart, a paragraph what blank lines do; some call each line of prose a paragraph. Items
are marked; nested ones and those of further lists may count or not, and lines without a mark may be a list as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import regex

from truebench_hf.judging.rules.measuring.answers import Answer
from truebench_hf.judging.rules.measuring.plain_text import BOLD_LINE, FENCE_LINE, HEADING, RULE_LINE, plain
from truebench_hf.judging.rules.measuring.ranges import CountRange
from truebench_hf.judging.rules.measuring.remarks import is_note, may_open
from truebench_hf.rules import Listed

_WRAPPED = 100  # characters of a line above which it is shown as several
_WIDTH = 60
_BREAK = regex.compile(r"\n[ \t]*\n+")
_BULLET = regex.compile(r"([ \t]*)(?:>[ \t]?)*([-*+•‣◦▪▸►●○■□✓✔✅☑➤➔→·])[ \t]+(?=\S)|([ \t]*)([•‣●▪])(?=\S)")
_NUMBER = regex.compile(
    r"([ \t]*)(?:>[ \t]?)*(?:\*\*|__)?(?:\(?\d{1,3}[.)](?![\d\p{L}])|\d{1,3}[．、]|[（]\d{1,3}[）]|[①-⑳]|\d\ufe0f?\u20e3)[ \t]*(?=\S)"
)
_MAYBE = regex.compile(
    r"([ \t]*)(?:[–—][ \t]+|\(?[A-Za-zА-Яа-я][.)][ \t]+|\(?[ivxIVX]{1,4}[.)][ \t]+|#{1,6}[ \t]+\(?\d{1,3}[.)])(?=\S)"
)
_INLINE = regex.compile(r"(?<=\s)(?:[•‣●▪◦]|\(?\d{1,2}[.)])(?=\s)")  # "1. this 2. that" in one line
_SIGNATURE = regex.compile(r"\s*(?:[—–(*_~-]|by\b)", regex.IGNORECASE)
_SIGNED = regex.compile(
    r"\s*(?:[^\p{L}\p{N}\s\"'“”‘’«»„(\[*_#]|step \d|[①-⑳])", regex.IGNORECASE
)  # any sign may be meant for a bullet
_SAID = regex.compile(r"[\p{L}\p{N}]")


@dataclass(frozen=True, slots=True)
class Item:
    """A line that is marked as an item: how far it is indented, its kind of mark, and its text."""

    indent: int
    mark: str
    text: str


def lines(text: str) -> list[str]:
    """The lines that say something, with their marks."""
    return [
        line
        for line in text.split("\n")
        if line.strip() and not (RULE_LINE.fullmatch(line) or FENCE_LINE.fullmatch(line))
    ]


def count_lines(text: str) -> CountRange:
    """Lines that are not blank. Long ones are shown as several, so that nobody can tell how many are seen."""
    found = lines(text)
    shown = sum(1 + (len(line) // _WIDTH if len(line) > _WRAPPED else 0) for line in found)
    every = sum(1 for line in text.split("\n") if line.strip())
    every = max(every, len(regex.findall(r"\s/\s", text)) + len(found))  # verses set apart by strokes
    return CountRange.of(min(len(found), max(1, len(inner(text)))), len(found), max(every, shown))


def inner(text: str) -> list[str]:
    """The lines without a single one that a blank line sets apart: a title at the beginning, a name at the end."""
    blocks = [found for block in _BREAK.split(text) if (found := lines(block))]
    blocks = blocks[1:] if len(blocks) > 1 and len(blocks[0]) == 1 else blocks
    blocks = blocks[:-1] if len(blocks) > 1 and len(blocks[-1]) == 1 and _SIGNATURE.match(blocks[-1][0]) else blocks
    return [line for block in blocks for line in block]


def paragraphs(text: str) -> tuple[list[str], list[str]]:
    """(what blank lines set apart, what line breaks do), without headings, lists, tables and code, in plain text."""
    blocks = [block for block in _BREAK.split(text) if _is_prose(block)]
    single = [line for block in blocks for line in lines(block) if _is_prose(line)]
    return [plain(_unheaded(block)) for block in blocks], [plain(line) for line in single]


def count_paragraphs(text: str) -> CountRange:
    """Paragraphs; a list or a table of its own may count as one, as may a title, and each line of prose."""
    blocks, single = paragraphs(text)
    rest = sum(
        1 for block in _BREAK.split(text) if _SAID.search(block) and not _is_prose(block) and not _is_heading(block)
    )
    untitled = sum(1 for block in blocks if regex.search(r"[.!?…。！？:：][\"'”’»」』）)]*\Z", block))
    return CountRange.of(
        min(untitled, len(blocks)) or min(1, len(blocks)), len(blocks), max(len(blocks), len(single)) + rest
    )


def items(text: str) -> list[Item]:
    """The lines that are surely marked as items."""
    found = []
    for line in _outside_code(text):
        if (mark := _BULLET.match(line)) is not None and not RULE_LINE.fullmatch(line):
            indent, sign = mark[1] if mark[2] else mark[3], mark[2] or mark[4]
            found.append(Item(len(indent.expandtabs(4)), sign, plain(line[mark.end() :])))
        elif (mark := _NUMBER.match(line)) is not None:
            found.append(Item(len(mark[1].expandtabs(4)), "1", plain(line[mark.end() :])))
    return found


def top_level(found: list[Item]) -> list[Item]:
    """The items that are not nested."""
    least = min((item.indent for item in found), default=0)
    return [item for item in found if item.indent <= least + 1]


def of_mark(found: list[Item], mark: str) -> list[Item]:
    """The items that bullets (and the like), or numbers, mark."""
    return [item for item in found if (item.mark == "1") == (mark == "number")]


def goes_on(text: str) -> bool:
    """Whether items may go on in lines without a mark: behind them, or between two of them."""
    marked, open_, blank = False, False, False
    for line in _outside_code(text):
        if _is_item(line):
            if open_:
                return True
            marked, blank = True, False
        elif not line.strip():
            blank = True
        elif marked:
            if line[0].isspace() or not blank:
                return True
            open_ = True
    return False


def count_items(text: str, unmarked: bool = True) -> CountRange:
    """Items of lists. The fewest are those of the smallest list of one kind, the most are all marked lines; without any
    mark they may be lines or what commas set apart (`unmarked`)."""
    found, maybe = items(text), sum(1 for line in _outside_code(text) if _MAYBE.match(line))
    top = top_level(found)
    if not found:
        loose = max(len(lines(text)), len(regex.findall(r"[,;、，；·/]", text)) + 1) if unmarked and text.strip() else 0
        return CountRange.of(0, maybe, max(maybe, loose))
    lists = _lists(text)
    kinds = [sum(1 for item in top if item.mark == mark) for mark in {item.mark for item in top}]
    inline = sum(len(_INLINE.findall(item.text)) for item in found)
    return CountRange.of(min([*lists, *kinds]), len(top), len(found) + maybe + inline)


def listed(rule: Listed, answer: Answer) -> tuple[str, bool | None]:
    """(how many lines are marked as items, whether all are). Short lines or commas may be a list without its marks."""
    text = answer.core if items(answer.core) else answer.whole
    found, every = items(text), [line for line in text.split("\n") if line.strip()]
    facts = f"{len(found)} of {len(every)} lines marked as list items"
    kinds = {"number" if item.mark == "1" else "bullet" for item in found}
    if len(found) > 1 and len(found) == len(every) and (rule.mark == "any" or kinds == {rule.mark}):
        around = [line for line in lines(answer.whole) if not _is_item(line) and not line[0].isspace()]
        return facts, True if all(may_open(line) or is_note(line) for line in around) else None
    marked = found or any(_MAYBE.match(line) or _SIGNED.match(line) for line in every) or "```" in text
    short = [line for line in every if len(line) < _WRAPPED]
    inline = rule.mark == "any" and len(text) < 2 * _WRAPPED and len(regex.findall(r"[,;、，；]", text)) > 1
    return facts, None if marked or inline or not every or len(short) > 2 else False


def number_of_lists(text: str) -> int:
    """How many lists there are, parted by lines at the margin."""
    return len(_lists(text))


def _lists(text: str) -> list[int]:
    """How many items at the top level each list has; lists are parted by lines at the margin that are no items."""
    found: list[int] = []
    going = False
    least = min((item.indent for item in items(text)), default=0)
    for line in _outside_code(text):
        mark = _BULLET.match(line) or _NUMBER.match(line)
        if mark is not None:
            if len((mark[1] or "").expandtabs(4)) <= least + 1:
                found = [*found[:-1], found[-1] + 1] if going and found else [*found, 1]
                going = True
        elif line.strip() and not line[0].isspace():
            going = False
    return found or [0]


def _outside_code(text: str) -> list[str]:
    kept, inside = [], False
    for line in text.split("\n"):
        if FENCE_LINE.fullmatch(line):
            inside = not inside
        elif not inside:
            kept.append(line)
    return kept


def _is_heading(block: str) -> bool:
    found = lines(block)
    return bool(found) and all(HEADING.fullmatch(line) or BOLD_LINE.fullmatch(line) for line in found)


def _is_prose(block: str) -> bool:
    """Whether a block has a line that is no heading, item, row of a table or code."""
    inside = _outside_code(block)
    return any(
        _SAID.search(line)
        and not (HEADING.fullmatch(line) or BOLD_LINE.fullmatch(line) or _is_item(line) or line.count("|") > 1)
        for line in inside
    )


def _is_item(line: str) -> bool:
    return bool(_BULLET.match(line) or _NUMBER.match(line))


def _unheaded(block: str) -> str:
    """A block without headings, and without the lists within it."""
    return "\n".join(line for line in block.split("\n") if not (HEADING.fullmatch(line) or BOLD_LINE.fullmatch(line)))
