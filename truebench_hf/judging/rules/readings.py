"""What of a response may count as the answer: all of it, its text without marks, its core, or the fenced part.

Nobody can tell for sure which is meant, so that a rule decides only where all readings agree. Where several versions are
offered nothing is sure to count, and the core is empty.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import regex

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

    whole: str
    blocks: list[str]
    texts: Mapping[str, str]

    @property
    def core(self) -> str:
        """What is left without all that may be no part of the answer."""
        return self.texts.get("without what stands before it", self.whole)

    @property
    def data(self) -> str:
        """The content of a code block that is all there is, else the whole."""
        return self.core if self.core in self.blocks else self.whole


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
def table(name: str) -> Any:
    """Return a table of `words.yaml`."""
    import yaml

    text = (Path(__file__).parent / "words.yaml").read_text(encoding="utf-8")
    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))[name]


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
