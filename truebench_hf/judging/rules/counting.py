"""How many units a text has, in every way in which people count them: {how it was counted: number}, the usual way first.

Words are what blanks set apart, in Korean too; in scripts without blanks a number of words mostly means characters.
Judges are told the same (`prompts/_rules.jinja`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import get_args

import regex

from truebench_hf.judging.rules import readings
from truebench_hf.judging.rules.readings import HEADING, ITEM, paragraphs, plain, words
from truebench_hf.judging.sentences import sentences as split
from truebench_hf.rules import Class, CountRule, Part

UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々〆]"
# Where some count two words in what blanks leave as one: well-known, and/or, l'eau; not in "don't". And a dash or a sum.
_JOINT = (
    r"(?i)(?<=[\p{L}\p{N}])(?:[-‐‑–—/+&=_~…:;]+|[.,](?=\p{L}))(?=[\p{L}\p{N}])|(?<=\w )[=-]+(?= )"
    r"|(?<=\p{L})['’](?=[\p{L}\p{N}])(?!(?:t|s|re|ve|ll|d|m)(?!\p{L}))|(?<=\p{N})(?=\p{L}{2})"
)
_MAYBE_ITEM = (
    r"[ \t]*(?:[–—][ \t]+|\(?[A-Za-zА-Яа-я][.)][ \t]+|\(?[ivxIVX]{1,4}[.)][ \t]+|#{1,6}[ \t]+\(?\d{1,3}[.)])(?=\S)"
)
_CLOSING = r"[\"'”’»«›」』）)\]*_`]"
_MARK = r"[.!?…‥。．！？｡؟।॥۔։።៕]"
_QUOTED = r"“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|\"[^\"]*\"|\([^()]*\)|「[^「」]*」|『[^『』]*』"
Counts = dict[str, int]


@lru_cache(maxsize=64)  # several rules count the same
def count(rule: CountRule, text: str) -> Counts:
    """Return the number of units that a rule counts."""
    if rule.unit in readings.table("patterns"):
        return matches(rule.unit, text)
    return _items(text, rule) if rule.unit == "list_items" else _COUNTERS[rule.unit](text)


def parts(per: Part, text: str) -> list[str]:
    """Return the parts of a text; none where they cannot be told for sure."""
    if per == "line":
        return _lines(text)
    if per == "paragraph":
        blocks = _prose(text)  # of those of several lines each may be one, to some
        return [lines[0] for lines in blocks] if all(len(lines) == 1 for lines in blocks) else []
    if per == "item":
        lines = [regex.match(ITEM, line) is not None for line in _lines(text)]
        sure = True in lines and False not in lines[lines.index(True) :]  # else what belongs to an item is not sure
        return [plain(item) for _, _, item in items(text)] if sure else []
    visible = plain(text)
    sentences = [part for start, end in split(visible) if any(map(str.isalnum, part := visible[start:end].strip()))]
    return sentences if set(_sentences(text).values()) == {len(sentences)} else []


def items(text: str) -> list[tuple[int, str, str]]:
    """Return (indent, mark, text) of the lines that are surely marked as items; `mark` is "1" for numbers."""
    lines = [line for line in text.split("\n") if not regex.fullmatch(readings.DRAWN, line)]
    marked = [(match, line[match.end() :]) for line in lines if (match := regex.match(ITEM, line))]
    return [(len(match["indent"].expandtabs(4)), match["bullet"] or "1", rest) for match, rest in marked]


def top_level(marked: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """Return the items that are not nested."""
    least = min((indent for indent, _, _ in marked), default=0)
    return [item for item in marked if item[0] <= least + 1]


def _words(text: str) -> Counts:
    tokens = [token for token in text.split() if any(map(str.isalnum, token))]
    bare = [token for token in regex.sub(rf"(?m)^{ITEM}", "", text).split() if regex.search(r"\p{L}", token)]
    apart = max(len(regex.findall(r"[^\s|#*_>=`~•‣◦▪○:-]\S*", text)), len(tokens)) + len(regex.findall(_JOINT, text))
    if not regex.search(UNSPACED, text):
        return {"": len(tokens), "without numbers": len(bare), "with joined words apart": apart}
    wide = len(regex.findall(UNSPACED, text))
    signs = sum(len(token) for token in text.split() if regex.search(UNSPACED, token))
    return {
        "": wide + sum(not regex.search(UNSPACED, token) for token in tokens),
        "with several characters a word": max(1, wide // 4) + sum(not regex.search(UNSPACED, token) for token in bare),
        "with all signs": signs + apart,
    }


def _character_counts(text: str, spaces: bool | None) -> Counts:
    graphemes = regex.findall(r"\X", text)  # characters as people see them
    bare, all_characters = sum(not char.isspace() for char in graphemes), sum(char != "\n" for char in graphemes)
    without = spaces is False or (spaces is None and regex.search(rf"{UNSPACED}|\p{{Hangul}}", text))
    return {
        "": bare if without else all_characters,
        "as a program counts them": len("".join(text.split()) if spaces is False else text),
    }


def _sentences(text: str) -> Counts:
    never = rf"(?<!\b(?:{words('titles')}))"
    short = rf"(?<!\b(?:{words('shortened')}|\p{{L}}|\d{{1,2}}|[ivxlIVXL]+|(?:\p{{L}}{{1,4}}\.)+\p{{L}}{{1,4}}))"
    begins = r"(?=\s+[\"“„«(¿¡*_]*[\p{Lu}\p{Lo}\p{N}])"
    sure = rf"(?i:{never}{short})(?<![.…])\.{begins}|[!?]+{begins}|[。．！？｡।॥۔።]+(?!{_CLOSING})"
    maybe = rf"(?:(?i:{never})\.|[!?…‥])+{_CLOSING}*(?=\s|\p{{Lu}})|[。．！？｡؟।॥۔։።៕]+|:\s+\(?1[.)]\s|(?<=\p{{L}}\s?)[\p{{Extended_Pictographic}}\ufe0f\u200d]+\s+(?=\p{{L}})"
    lines = [regex.sub(rf"^(?:{ITEM}|{_MAYBE_ITEM})", "", line).strip() for line in plain(text).split("\n")]
    lines = [line for line in lines if any(map(str.isalnum, line))]
    bodies = [regex.sub(rf"{_MARK}+{_CLOSING}*[^\p{{L}}\p{{N}}]*\Z", "", line) for line in lines]
    certain = sum(len(regex.findall(sure, regex.sub(_QUOTED, lambda match: "_" * len(match[0]), x))) for x in bodies)
    most = sum(len(regex.findall(maybe, body)) + 1 for body in bodies)
    ended = sum(body != line for body, line in zip(bodies, lines, strict=True))
    known = len(split("\n\n".join(lines))) if most > certain + len(lines) else most
    return {
        "": min(max(known, certain + len(lines)), most),
        "without lines that have no end": max(certain + ended, min(most, 1)),
        "with all that may be one": most,
    }


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip() and not regex.fullmatch(readings.NO_TEXT, line)]


def _line_counts(text: str) -> Counts:
    lines, blocks = _lines(text), paragraphs(text)
    alone = sum(len(_lines(blocks[at])) == 1 for at in (0, -1)) if len(blocks) > 1 else 0
    displayed = sum(1 + (len(line) // 60 if len(line) > 100 else 0) for line in lines)
    most = max(displayed, len(regex.findall(r"\S.*", text)) + len(regex.findall(r"\s/\s", text)))
    return {"": len(lines), "without title and signature": max(1, len(lines) - alone), "as they are shown": most}


def _prose(text: str) -> list[list[str]]:
    """Return the lines of paragraphs, in plain text, without headings; of those that are more than items, tables or code."""
    other = rf"{HEADING}|{ITEM}.*|.*\|.*\|.*|[^\p{{L}}\p{{N}}]*"
    outside = regex.sub(rf"(?m)^(?:{HEADING})$", "", regex.sub(readings.FENCED, "", text))
    blocks = map(_lines, paragraphs(outside))
    return [[*map(plain, lines)] for lines in blocks if not all(regex.fullmatch(other, line) for line in lines)]


def _paragraph_counts(text: str) -> Counts:
    blocks = _prose(text)
    ended = sum(bool(regex.search(rf"(?:{_MARK}|[:：]){_CLOSING}*\Z", lines[-1])) for lines in blocks)
    others = sum(not regex.fullmatch(HEADING, block) for block in paragraphs(text)) - len(blocks)
    most = max(len(blocks), sum(map(len, blocks))) + max(others, 0)
    return {"": len(blocks), "that end with a mark": ended or min(1, len(blocks)), "with every line and list": most}


def _items(text: str, rule: CountRule) -> Counts:
    marked = items(text)
    maybe = sum(bool(regex.match(_MAYBE_ITEM, line)) for line in text.split("\n"))
    if not marked:
        apart = len(regex.findall(r"[,;、，；·/]", text)) + 1 if rule.max != 0 and text else 0
        return {"": 0, "lines or what commas set apart": max(maybe, apart, len(_lines(text)) * (rule.max != 0))}
    right = sum(rule.mark == "any" or (mark == "1") == (rule.mark == "number") for _, mark, _ in marked)
    inline = len(regex.findall(r"(?<=\s)(?:[•‣●▪◦]|\(?\d{1,2}[.)])(?=\s)", " ".join(item for _, _, item in marked)))
    return {
        "": len(top_level(marked)),
        "in one list": min(*lists(text), right),
        "with nested ones": len(marked) + maybe + inline,
    }


def lists(text: str) -> list[int]:
    """Return how many items each list has, nested ones apart; a line at the margin, or another mark, begins a new one."""
    least, sizes, last = min((indent for indent, _, _ in items(text)), default=0), [0], ""
    for line in text.split("\n"):
        match = regex.match(ITEM, line)
        if match and len(match["indent"].expandtabs(4)) <= least + 1:
            sizes, last = [*sizes, 0] if (match["bullet"] or "1") != last else sizes, match["bullet"] or "1"
            sizes[-1] += 1
        elif not match and line.strip() and not line[0].isspace():
            sizes.append(0)
    return [number for number in sizes if number] or [0]


def headings(text: str, level: int | None) -> Counts:
    """Return the number of Markdown headings, of one level where one is named; outside code."""
    outside = regex.sub(readings.FENCED, "", text)
    levels = [len(match["level"] or "") for match in regex.finditer(rf"(?m)^(?:{HEADING})$", outside)]
    real = [depth for depth in levels if depth and depth == (level or depth)]
    titled = len(real) > 1 and real.count(real[0]) == 1 and not level  # a title above the sections
    return {
        "": len(real),
        "without the title": len(real) - titled,
        "with lines in bold letters": len(real) + levels.count(0),  # which some take for headings
    }


def matches(name: str, text: str) -> Counts:
    """Return how many there are of a class of characters in what a page shows, or of another unit in the text."""
    visible = _shown(text) if name in get_args(Class) and name not in ("emoji", "markdown") else text
    ways = readings.table("patterns")[name].items()
    return {way: len(regex.findall(pattern, text if way else visible, regex.M | regex.V1)) for way, pattern in ways}


def sign(sign: str, text: str) -> Counts:
    """Return how often a character stands in what a page shows, and how often one that is like it in the text."""
    alike = unicodedata.normalize("NFKD" if sign.isalpha() else "NFKC", text).casefold()  # is "é" an "e"?
    pictures = sum(map(text.count, readings.table("pictures").get(sign, "")))
    loose = max(text.count(sign), alike.count(unicodedata.normalize("NFKC", sign).casefold()))
    return {"": _shown(text).count(sign), "with others like it": loose + pictures}


def _shown(text: str) -> str:
    """Return the text without what only looks like prose: code, addresses and the marks of lists."""
    text = regex.sub(r"(?m)^[ \t]*\(?(?:\d{1,3}|[A-Za-z])[.)][ \t]", "", plain(regex.sub(readings.FENCED, "", text)))
    return str(regex.sub(rf"{readings.ADDRESS}|`[^`\n]*`", " ", text))


_COUNTERS: dict[str, Callable[[str], Counts]] = {
    "words": _words, "sentences": _sentences, "lines": _line_counts, "paragraphs": _paragraph_counts,
    "characters": lambda text: _character_counts(text, None),
    "characters_no_spaces": lambda text: _character_counts(text, False),
    "characters_with_spaces": lambda text: _character_counts(text, True),
}  # fmt: skip
