"""What of a response may count as the answer: all of it, its text without marks, its core, or the fenced part.

Nobody can tell for sure which is meant, so that a rule decides only where all readings agree. Where several versions are
offered nothing is sure to count, and the core is empty.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import regex

HEADING = r"[ \t]{0,3}(?P<level>#{1,6})[ \t]+\S.*|[ \t]*(?:\*\*|__)[^*_\n]+(?:\*\*|__)[ \t]*[:：]?[ \t]*"
ITEM = (
    r"(?P<indent>[ \t]*)(?:>[ \t]?)*(?:(?P<bullet>[-*+•‣◦▪▸►●○■□✓✔✅☑➤➔→·])(?:[ \t]+|(?<=[•‣●▪]))|(?:\*\*|__)?(?:\(?\d{1,3}[.)]"
    r"(?![\d\p{L}])|\d{1,3}[．、]|（\d{1,3}）|[①-⑳]|\d\ufe0f?\u20e3)[ \t]*)(?=\S)"
)
DRAWN = r"[ \t]*(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,}|[─━—–]{3,})[ \t]*"
NO_TEXT = rf"{DRAWN}|[ \t]*[`~]{{3,}}[^`]*|[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)+\|?[ \t]*"
CODE = r"(?ms)^[ \t]*(?P<f>`{3,}|~{3,}).*?(?:^[ \t]*(?P=f)[`~]*[ \t]*$|\Z)"
_FENCED = r"^[ \t]*(?P<fence>`{3,}|~{3,})[^`\n]*\n(?P<code>.*?)^[ \t]*(?P=fence)[`~]*[ \t]*$"
_REMARK = 25  # words of a line that may be no part of the answer; twice as many where a word shows it
_MARKS = (
    (r"^[ \t]*(?:>[ \t]?)*(?:#{1,6}[ \t]+)?", ""), (r"!?\[([^\]\[\n]{0,500})\]\([^()\s]{0,500}(?:[ \t]+\"[^\"\n]{0,200}\")?\)", r"\1"),
    (r"</?[A-Za-z][A-Za-z0-9-]{0,20}(?:[ \t][^<>\n]{0,200})?/?>", ""), (r"(`|\*{1,3}|__|~~)(?=\S)([^`*~\n]{1,1000}?)(?<=\S)\1", r"\2"),
    (r"\*\*", ""), (r"(?<![\p{L}\p{N}_])_(?=\S)([^_\n]{1,1000}?)(?<=\S)_(?![\p{L}\p{N}_])", r"\1"),
)  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """A response, and its readings by how they differ from it."""

    whole: str

    @cached_property
    def blocks(self) -> list[str]:
        """The contents of the fenced code blocks."""
        return [tidy(match["code"]) for match in regex.finditer(_FENCED, self.whole, regex.M | regex.S)]

    @cached_property
    def prose(self) -> str:
        """All but the fenced code blocks."""
        return tidy(regex.sub(_FENCED, "", self.whole, flags=regex.M | regex.S)) if self.blocks else self.whole

    @cached_property
    def core(self) -> str:
        """What is left without all that may be no part of the answer."""
        return self._without(0)

    def _without(self, end: int) -> str:
        title = rf"^[^\p{{L}}\p{{N}}\n]{{0,8}}(?:{words('versions')})\s*(?:\d|[A-Ha-h]\b|[一二三]|one|two)"
        if len(self.blocks) > 1 or len(regex.findall(title, self.whole, regex.I | regex.M)) > 1:
            return ""
        return _core(self.prose, end) if any(map(str.isalnum, self.prose)) else self.data

    @property
    def data(self) -> str:
        """The content of a code block that is all there is, else the whole."""
        return self.blocks[0] if len(self.blocks) == 1 and not any(map(str.isalnum, self.prose)) else self.whole

    @cached_property
    def texts(self) -> Mapping[str, str]:
        """The different readings, that of the whole first."""
        every = {"": self.whole, "without marks of Markdown": plain(self.whole)}
        if len(self.blocks) == 1:
            every |= {"in the code block": self.blocks[0]}
            every |= {"without the code block": self.prose} if any(map(str.isalnum, self.prose)) else {}
        every |= {"without what stands before it": self.core, "without what stands behind it": self._without(-1)}
        return {reading: text for reading, text in every.items() if not reading or text != self.whole}

    @cached_property
    def alone(self) -> list[str]:
        """Parts that may be all that was asked for: a title above its explanation, each of several proposals in a list."""
        first, *rest = paragraphs(self.whole) or [""]
        lines = [line for line in self.core.split("\n") if line.strip()]
        items = len(lines) > 1 and all(regex.match(ITEM, line) for line in lines)
        title = rest and _is_title(first) and not speaks(first, "leads")
        return ([first] if title else []) + (lines if items else [])


@lru_cache(maxsize=8)  # several rules ask about the same response; few, as what visitors write is not to be kept
def answer(response: str) -> Answer:
    """Return the readings of a response."""
    return Answer(tidy(response))


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


def size(text: str) -> int:
    """Return about how many words a text has: characters of scripts without blanks count as fractions of one."""
    return len(text.split()) + len(regex.findall(r"[\p{Han}\p{Hiragana}\p{Katakana}]", text)) * 5 // 12


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


def in_parts(response: str) -> bool:
    """Return whether two lines or more name what follows them, such as a translation and a summary."""
    label = r"(?:\*\*|__)?[^\W\d_][^\n.!?:：*_|]{0,40}(?:\*\*|__)?[:：](?:\*\*|__)?(?:[ \t]+[^\n]*)?"
    bracket = r"[\[【〈《][^\]】〉》\n]{1,40}[\]】〉》][^\n]*"
    return len(regex.findall(rf"^[ \t]*(?:{HEADING}|{label}|{bracket})$", response, regex.M)) > 1


def speaks(line: str, name: str) -> bool:
    """Return whether a line speaks of the answer (`leads` to it, `notes` on it) instead of being part of it."""
    if name == "leads" and line.rstrip(" *_").endswith((":", "：")):
        return True
    return size(line) <= 2 * _REMARK and regex.search(words(name), line, regex.I) is not None


def _core(text: str, end: int) -> str:
    """Drop titles, greetings and remarks around an answer, and at one end (0 or -1) a block that is only short."""
    blocks = paragraphs(max(regex.split(rf"^(?:{DRAWN})$", text, flags=regex.M), key=len))
    for name, at in (("leads", 0), ("notes", -1)):
        for _ in range(3):
            if (
                len(blocks) > 1
                and (_is_title(blocks[at]) or speaks(blocks[at], name))
                and not all(map(_is_title, blocks))
            ):
                del blocks[at]
    if (
        len(blocks) > 1
        and "\n" not in blocks[end]
        and size(blocks[end]) <= _REMARK
        and not regex.match(ITEM, blocks[end])
    ):
        del blocks[end]
    lines = "\n\n".join(blocks).split("\n")
    lead = rf"(?i)[ \t*_\"'“]*(?:{words('leads')})|.*[:：][ *_]*\Z"
    leads = size(lines[0]) <= _REMARK and regex.match(lead, lines[0])
    if len(lines) > 1 and (leads or (_is_title(lines[0]) and not _is_title(lines[1]))):
        lines = lines[1:]
    if len(lines) > 1 and speaks(lines[-1], "notes") and not regex.match(ITEM, lines[-1]):
        lines = lines[:-1]
    text = regex.sub(r"\s*[(\[（][^()\[\]（）\n]{0,40}[)\]）][*_]*\s*\Z", _without_note, "\n".join(lines).strip())
    label = rf"(?:[*_]{{1,3}}[^\n*_]{{1,60}}[*_]{{1,3}}[ \t]*[:：]?|(?:\w+[ \t]){{0,3}}(?:{words('labels')})[ \t]*[:：])[ \t]*(?=\S)"
    lead = rf"(?:{words('leads')})[^\n.!?:。！？]{{0,50}}[.!?:。！？]+\s*(?=\S)"
    return str(regex.sub(rf"\A(?:{lead})?(?:{label})?", "", text, flags=regex.I)).strip()


def _is_title(block: str) -> bool:
    """Return whether lines are titles, greetings or signatures: headings, or short and without an end."""
    ended = r"[.!?…。！？｡؟।][\"'”’»」』）)\]*_`]*\Z"
    lines = [line for line in block.split("\n") if not regex.fullmatch(HEADING, line)]
    return all(size(line) < _REMARK // 2 and not regex.search(rf"{ended}|^{ITEM}", line) for line in lines)


def _without_note(match: regex.Match[str]) -> str:
    return "" if speaks(match[0], "notes") else match[0]
