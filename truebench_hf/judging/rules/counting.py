"""What of a response may count as the answer, and how many units a text has, in every way in which people count them.

A response has several readings: all of it, its text without marks, its core, or the fenced part. Nobody can tell for sure
which is meant, so that a rule decides only where all readings agree. Where several versions are offered nothing is sure to
count, and the core is empty.

Counts are {how it was counted: number}, the usual way first. Words are what blanks set apart, in Korean too; in scripts
without blanks a number of words mostly means characters. Judges are told the same (`prompts/_rules.jinja`).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple, get_args

import regex

from truebench_hf.data.rules import Class, CountRule, Part
from truebench_hf.judging.sentences import sentences as split

HEADING = r"[ \t]{0,3}(?P<level>#{1,6})[ \t]+\S.*|[ \t]*(?:\*\*|__)[^*_\n]+(?:\*\*|__)[ \t]*[:：]?[ \t]*"
ITEM = (
    r"(?P<indent>[ \t]*)(?:>[ \t]?)*(?:(?P<bullet>[-*+•‣◦▪▸►●○■□✓✔✅☑➤➔→·])(?:[ \t]+|(?<=[•‣●▪]))|(?:\*\*|__)?(?:\(?\d{1,3}[.)]"
    r"(?![\d\p{L}])|\d{1,3}[．、]|（\d{1,3}）|[①-⑳]|\d\ufe0f?\u20e3)[ \t]*)(?=\S)"
)
DRAWN = r"[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}|[─━—–]{3,})[ \t]*"
NO_TEXT = rf"{DRAWN}|[ \t]*[`~]{{3,}}[^`]*|[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*"
FENCED = r"(?ms)^[ \t]*(?P<fence>`{3,}|~{3,})[^`\n]*\n(?P<code>.*?)(?:^[ \t]*(?P=fence)[`~]*[ \t]*$|\Z)"
ADDRESS = r"(?:https?://|www\.)\S*|(?<!\S)[^\s@]{1,100}@[^\s@]+"
_REMARK = 25  # words of a line that may be no part of the answer; twice as many where a word shows it
_MARKS = (
    (r"^[ \t]*(?:>[ \t]?)*(?:#{1,6}[ \t]+)?", ""), (r"!?\[([^\]\[\n]{0,500})\]\([^()\s]{0,500}(?:[ \t]+\"[^\"\n]{0,200}\")?\)", r"\1"),
    (r"</?[A-Za-z][A-Za-z0-9-]{0,20}(?:[ \t][^<>\n]{0,200})?/?>", ""), (r"(`|\*{1,3}|__|~~)(?=\S)([^`*~\n]{1,1000}?)(?<=\S)\1", r"\2"),
    (r"\*\*", ""), (r"(?<![\p{L}\p{N}_])_(?=\S)([^_\n]{1,1000}?)(?<=\S)_(?![\p{L}\p{N}_])", r"\1"),
)  # fmt: skip


class Answer(NamedTuple):
    """A response, the contents of its fenced blocks, and its readings by how they differ from it, the whole first."""

    full_text: str
    blocks: list[str]
    texts: Mapping[str, str]

    @property
    def core(self) -> str:
        """What is left without all that may be no part of the answer."""
        return self.texts.get("without what stands before it", self.full_text)

    @property
    def data(self) -> str:
        """The content of a code block that is all there is, else the whole."""
        return self.core if self.core in self.blocks else self.full_text


@lru_cache(maxsize=8)  # several rules ask about the same response; few, as what visitors write is not to be kept
def answer(response: str) -> Answer:
    """Return the readings of a response."""
    full_text = tidy(response)
    blocks = [tidy(match["code"]) for match in regex.finditer(FENCED, full_text)]
    prose = tidy(regex.sub(FENCED, "", full_text))
    title = rf"(?im)^[^\p{{L}}\p{{N}}\n]{{0,8}}(?:{words('versions')})\s*(?:\d|[A-H]\b|[一二三]|one|two)"
    texts = {"": full_text, "without marks of Markdown": plain(full_text)}
    if len(blocks) == 1:
        texts |= {"in the code block": blocks[0]}
        texts |= {"without the code block": prose} if any(map(str.isalnum, prose)) else {}
    many_parts = len(blocks) > 1 or len(regex.findall(title, full_text)) > 1
    for reading, end in (("without what stands before it", 0), ("without what stands behind it", -1)):
        texts[reading] = "" if many_parts else _core(prose, end) if any(map(str.isalnum, prose)) else "".join(blocks)
    return Answer(
        full_text, blocks, {reading: text for reading, text in texts.items() if not reading or text != full_text}
    )


def tidy(text: str) -> str:
    """Return the text composed (NFC), with line breaks of one kind, without what nobody sees and blanks at its ends."""
    text = regex.sub(r"\r\n|[\r\u2028\u2029\v\f\x85]", "\n", unicodedata.normalize("NFC", text))
    return str(regex.sub(r"[\u200b\u2060\ufeff\u00ad]", "", text)).strip()


def plain(text: str) -> str:
    """Return the text as a page shows it: without marks of emphasis, headings, quotations, links, tags and tables."""
    text = "\n".join(line for line in text.split("\n") if not regex.fullmatch(NO_TEXT, line))
    for pattern, kept in _MARKS:
        text = regex.sub(pattern, kept, text, flags=regex.M)
    lines = (" ".join(line.replace("|", " ").split()) if line.count("|") > 1 else line for line in text.split("\n"))
    return "\n".join(lines).strip()


def folded(text: str) -> str:
    """Return a text as a lenient reader compares it: without Markdown, accents, case and kinds of quotation marks."""
    same = str.maketrans(table("same"))
    text = unicodedata.normalize("NFKD", plain(tidy(text)).translate(same)).casefold().translate(same)
    return "\n".join(" ".join(line.split()) for line in regex.sub(r"\p{M}+", "", text).split("\n")).strip()


def without_signs(text: str) -> str:
    """Return the letters and numbers of a text; where it has none, the text."""
    return str(regex.sub(r"[^\p{L}\p{N}]+", "", text)) or text


def paragraphs(text: str) -> list[str]:
    """Return what blank lines set apart."""
    return [block for block in regex.split(r"\n[ \t]*\n+", text) if any(map(str.isalnum, block))]


@cache
def load_table(name: str) -> Any:
    """Return the content of a YAML file of this folder."""
    import yaml

    text = (Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def table(name: str) -> Any:
    """Return a table of `words.yaml`."""
    return load_table("words")[name]


@cache
def words(name: str) -> str:
    """Return a list of words of `words.yaml` as alternatives of a regular expression."""
    spaced, *unspaced = (" ".join(words.split()).replace(" | ", "|") for words in table(name))
    return rf"\b(?:{spaced})\b|{unspaced[0]}" if unspaced else spaced


def speaks(line: str, name: str) -> bool:
    """Return whether a line speaks of the answer (`leads` to it, `notes` on it) instead of being part of it."""
    if name == "leads" and line.rstrip(" *_").endswith((":", "：")):
        return True
    return _size(line) <= 2 * _REMARK and regex.search(words(name), line, regex.I) is not None


def is_title(block: str) -> bool:
    """Return whether lines are titles, greetings or signatures: headings, or short and without an end."""
    ended = r"[.!?…。！？｡؟।][\"'”’»」』）)\]*_`]*\Z"
    lines = [line for line in block.split("\n") if not regex.fullmatch(HEADING, line)]
    return all(_size(line) < _REMARK // 2 and not regex.search(rf"{ended}|^{ITEM}", line) for line in lines)


def _core(text: str, end: int) -> str:
    """Drop titles, greetings and remarks around an answer, and at one end (0 or -1) a block that is only short."""
    blocks = _without_frame(paragraphs(max(regex.split(rf"(?m)^(?:{DRAWN})$", text), key=len)))
    if len(blocks) > 1 and "\n" not in blocks[end] and _size(blocks[end]) <= _REMARK:
        del blocks[end]
    text = "\n".join(_without_frame("\n\n".join(blocks).split("\n"))).strip()
    note = rf"\s*[(\[（][^()\[\]（）\n]{{0,40}}(?:{words('notes')})[^()\[\]（）\n]{{0,40}}[)\]）][*_]*\s*\Z"
    lead = rf"(?:{words('leads')})[^\n.!?:。！？]{{0,50}}[.!?:。！？]+\s*(?=\S)"
    label = rf"(?:[*_]{{1,3}}[^\n*_]{{1,60}}[*_]{{1,3}}[ \t]*[:：]?|(?:\w+[ \t]){{0,3}}(?:{words('labels')})[ \t]*[:：])[ \t]*(?=\S)"
    return str(regex.sub(rf"(?i)\A(?:{lead})?(?:{label})?|{note}", "", text)).strip()


def _without_frame(parts: list[str]) -> list[str]:
    """Drop at both ends what is a title or speaks of the answer; where all parts look so they are the answer."""
    kept = list(parts)
    for name, at in (("leads", 0), ("notes", -1)):
        for _ in range(3):
            framing = len(kept) > 1 and not regex.match(ITEM, kept[at]) and not all(map(is_title, kept))
            if framing and (is_title(kept[at]) or speaks(kept[at], name)):
                del kept[at]
    return kept


def _size(text: str) -> int:
    """Return about how many words a text has: characters of scripts without blanks count as fractions of one."""
    return len(text.split()) + len(regex.findall(r"[\p{Han}\p{Hiragana}\p{Katakana}]", text)) * 5 // 12


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
    if rule.unit in table("patterns"):
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
    lines = [line for line in text.split("\n") if not regex.fullmatch(DRAWN, line)]
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
    return [line.strip() for line in text.split("\n") if line.strip() and not regex.fullmatch(NO_TEXT, line)]


def _line_counts(text: str) -> Counts:
    lines, blocks = _lines(text), paragraphs(text)
    alone = sum(len(_lines(blocks[at])) == 1 for at in (0, -1)) if len(blocks) > 1 else 0
    displayed = sum(1 + (len(line) // 60 if len(line) > 100 else 0) for line in lines)
    most = max(displayed, len(regex.findall(r"\S.*", text)) + len(regex.findall(r"\s/\s", text)))
    return {"": len(lines), "without title and signature": max(1, len(lines) - alone), "as they are shown": most}


def _prose(text: str) -> list[list[str]]:
    """Return the lines of paragraphs, in plain text, without headings; of those that are more than items, tables or code."""
    other = rf"{HEADING}|{ITEM}.*|.*\|.*\|.*|[^\p{{L}}\p{{N}}]*"
    outside = regex.sub(rf"(?m)^(?:{HEADING})$", "", regex.sub(FENCED, "", text))
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
    outside = regex.sub(FENCED, "", text)
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
    ways = table("patterns")[name].items()
    return {way: len(regex.findall(pattern, text if way else visible, regex.M | regex.V1)) for way, pattern in ways}


def sign(sign: str, text: str) -> Counts:
    """Return how often a character stands in what a page shows, and how often one that is like it in the text."""
    alike = unicodedata.normalize("NFKD" if sign.isalpha() else "NFKC", text).casefold()  # is "é" an "e"?
    pictures = sum(map(text.count, table("pictures").get(sign, "")))
    loose = max(text.count(sign), alike.count(unicodedata.normalize("NFKC", sign).casefold()))
    return {"": _shown(text).count(sign), "with others like it": loose + pictures}


def _shown(text: str) -> str:
    """Return the text without what only looks like prose: code, addresses and the marks of lists."""
    text = regex.sub(r"(?m)^[ \t]*\(?(?:\d{1,3}|[A-Za-z])[.)][ \t]", "", plain(regex.sub(FENCED, "", text)))
    return str(regex.sub(rf"{ADDRESS}|`[^`\n]*`", " ", text))


_COUNTERS: dict[str, Callable[[str], Counts]] = {
    "words": _words, "sentences": _sentences, "lines": _line_counts, "paragraphs": _paragraph_counts,
    "characters": lambda text: _character_counts(text, None),
    "characters_no_spaces": lambda text: _character_counts(text, False),
    "characters_with_spaces": lambda text: _character_counts(text, True),
}  # fmt: skip
