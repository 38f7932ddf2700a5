"""How many units a text has, in every way in which people count them: {how it was counted: number}, the usual way first.

Words are what blanks set apart, in Korean too; in scripts without blanks a number of words mostly means characters.
Judges are told the same (`prompts/_rules.jinja`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import regex

from truebench_hf.judging.rules.readings import CODE, DRAWN, HEADING, ITEM, NO_TEXT, paragraphs, plain, words
from truebench_hf.judging.sentences import sentences as split
from truebench_hf.rules import Count, Part

UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々〆]"
EMOJI = r"(?V1)(?:\p{RI}{2}|[\p{Emoji_Presentation}--\p{RI}]|\p{Extended_Pictographic}\ufe0f|[0-9#*]\ufe0f?\u20e3)"
FACE = r"\p{Extended_Pictographic}|\p{RI}|\u20e3|[:;=8xX]['’]?-?[()DPpOo3/\\|]|\^_?\^|<3|[ㅋㅎㅠㅜ]{2,}"
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
_ASKING = (
    r"(?im)(?:か|かな|のか|吗|嗎|呢|까요?|나요|가요|ไหม|หรือ)[。.!！]*(?=[\s」』”\"]|\Z)"
    r"|^(?:what|why|how|who|whose|where|which|can|could|would|do|does|did|is|are)\b[^.!?\n]*$"
)  # fmt: skip

Counts = dict[str, int]


@lru_cache(maxsize=64)  # several rules count the same
def count(rule: Count, text: str) -> Counts:
    """Return the number of units that a rule counts."""
    return _items(text, rule) if rule.unit == "list_items" else _COUNTERS[rule.unit](text)


def parts(per: Part, text: str) -> list[list[str]]:
    """Return the ways to cut a text into parts; an empty one where they cannot be told for sure."""
    if per == "line":
        return [_lines(text)]
    if per == "paragraph":
        blocks = _prose(text)
        return [["\n".join(lines) for lines in blocks], [line for lines in blocks for line in lines]]
    if per == "item":
        lines = [regex.match(ITEM, line) is not None for line in _lines(text)]
        if False in lines[lines.index(True) :] if True in lines else True:  # what belongs to an item is not sure
            return [[]]
        return [[plain(item) for _, _, item in every] for every in (items(text), top_level(items(text)))]
    shown = plain(text) if len(text) < 2500 else ""
    sentences = [part for start, end in split(shown) if any(map(str.isalnum, part := shown[start:end].strip()))]
    return [sentences if set(_sentences(text).values()) == {len(sentences)} else []]


def items(text: str) -> list[tuple[int, str, str]]:
    """Return (indent, mark, text) of the lines that are surely marked as items; `mark` is "1" for numbers."""
    lines = [line for line in text.split("\n") if not regex.fullmatch(DRAWN, line)]
    marked = [(match, line[match.end() :]) for line in lines if (match := regex.match(ITEM, line))]
    return [(len(match["indent"].expandtabs(4)), match["bullet"] or "1", rest) for match, rest in marked]


def top_level(marked: list[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """Return the items that are not nested."""
    least = min((indent for indent, _, _ in marked), default=0)
    return [item for item in marked if item[0] <= least + 1]


def lists(text: str) -> list[int]:
    """Return how many items each list has, nested ones apart; lists are parted by lines at the margin that are no items."""
    least, sizes = min((indent for indent, _, _ in items(text)), default=0), [0]
    for line in text.split("\n"):
        match = regex.match(ITEM, line)
        if match and len(match["indent"].expandtabs(4)) <= least + 1:
            sizes[-1] += 1
        elif not match and line.strip() and not line[0].isspace():
            sizes.append(0)
    return [number for number in sizes if number] or [0]


def _words(text: str) -> Counts:
    tokens = [token for token in text.split() if any(map(str.isalnum, token))]
    bare = [token for token in regex.sub(rf"(?m)^{ITEM}", "", text).split() if regex.search(r"\p{L}", token)]
    if not regex.search(UNSPACED, text):
        marked = [token for token in text.split() if not regex.fullmatch(r"[|#*_>=`~•‣◦▪●○:-]+", token)]
        apart = max(len(marked), len(tokens)) + len(regex.findall(_JOINT, text))
        return {"": len(tokens), "without numbers": len(bare), "with joined words apart": apart}
    visible = sum(len(_characters(token)) if regex.search(UNSPACED, token) else 1 for token in tokens)
    runs = [regex.findall(rf"\p{{Katakana}}[\p{{Katakana}}ー]*|{UNSPACED}+", token) for token in bare]
    fewest = sum(max(len(every), sum(map(len, every)) // 3, 1) for every in runs)
    wide = [token for token in text.split() if regex.search(UNSPACED, token)]
    most = sum(map(len, wide)) + len(text.split()) - len(wide) + len(regex.findall(_JOINT, text))
    return {"": visible, "with several characters a word": fewest, "with all signs": max(most, visible)}


def _characters(text: str) -> list[str]:
    """Return the characters of a text as people see them."""
    return list(regex.findall(r"\X", text))


def _character_counts(text: str, spaces: bool | None) -> Counts:
    shown = _characters(text)
    bare, whole = sum(not char.isspace() for char in shown), sum(char != "\n" for char in shown)
    usual = bare if spaces is False or (spaces is None and regex.search(rf"{UNSPACED}|\p{{Hangul}}", text)) else whole
    return {"": usual, "as a program counts them": len("".join(text.split()) if spaces is False else text)}


def _sentences(text: str) -> Counts:
    never = rf"(?<!\b(?:{words('titles')}))"
    short = rf"(?<!\b(?:{words('shortened')}|\p{{L}}|\d{{1,2}}|[ivxlIVXL]+|(?:\p{{L}}{{1,4}}\.)+\p{{L}}{{1,4}}))"
    sure = rf"(?i:{never}{short})(?<![.…])\.(?=\s+[\"“„«(¿¡*_]*[\p{{Lu}}\p{{Lo}}\p{{N}}])|[!?]+(?=\s+[\"“„«(¿¡*_]*[\p{{Lu}}\p{{Lo}}\p{{N}}])|[。．！？｡।॥۔።]+(?!{_CLOSING})"
    maybe = rf"(?:(?i:{never})\.|[!?…‥])+{_CLOSING}*(?=\s|\p{{Lu}})|[。．！？｡؟।॥۔։።៕]+|:\s+\(?1[.)]\s|(?<=\p{{L}}\s?)(?:{EMOJI})+\s+(?=\p{{L}})"
    fewest = usual = most = 0
    for line in plain(text).split("\n"):
        line = regex.sub(rf"^(?:{ITEM}|{_MAYBE_ITEM})", "", line).strip()
        if not any(map(str.isalnum, line)):
            continue
        body = regex.sub(rf"{_MARK}+{_CLOSING}*[^\p{{L}}\p{{N}}]*\Z", "", line)
        certain = len(regex.findall(sure, regex.sub(_QUOTED, lambda match: "_" * len(match[0]), body)))
        most_here = len(regex.findall(maybe, body)) + 1
        known = len(split(line)) if most_here > certain + 1 and len(line) < 2500 else certain + 1
        usual += min(max(known, certain + 1), most_here)
        fewest, most = fewest + certain + (body != line), most + most_here
    return {
        "": usual,
        "without lines that have no end": max(fewest, min(most, 1)),
        "with all that may be one": max(most, usual),
    }


def _questions(text: str) -> Counts:
    marks = len(regex.findall(r"[?？؟]+", text))
    sure = len(regex.findall(r"[?]+(?=\s|\Z)|[？؟]+(?![」』”\"])", plain(text)))
    asking = marks + len(regex.findall(_ASKING, text))
    return {"": marks, "at the end of a sentence": sure, "with those without a mark": asking}


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip() and not regex.fullmatch(NO_TEXT, line)]


def _line_counts(text: str) -> Counts:
    lines, blocks = _lines(text), paragraphs(text)
    alone = sum(len(_lines(blocks[at])) == 1 for at in (0, -1)) if len(blocks) > 1 else 0
    shown = sum(1 + (len(line) // 60 if len(line) > 100 else 0) for line in lines)
    most = max(
        sum(bool(line.strip()) for line in text.split("\n")), shown, len(lines) + len(regex.findall(r"\s/\s", text))
    )
    return {"": len(lines), "without title and signature": max(1, len(lines) - alone), "as they are shown": most}


def _prose(text: str) -> list[list[str]]:
    """Return the lines of paragraphs, in plain text, without headings; of those that are more than items, tables or code."""
    outside = regex.sub(CODE, "", text)
    other = rf"{HEADING}|{ITEM}.*|.*\|.*\|.*|[^\p{{L}}\p{{N}}]*"
    blocks = [[line for line in _lines(block) if not regex.fullmatch(HEADING, line)] for block in paragraphs(outside)]
    blocks = [lines for lines in blocks if not all(regex.fullmatch(other, line) for line in lines)]
    return [[plain(line) for line in lines] for lines in blocks]


def _paragraph_counts(text: str) -> Counts:
    blocks = _prose(text)
    ended = sum(bool(regex.search(rf"(?:{_MARK}|[:：]){_CLOSING}*\Z", lines[-1])) for lines in blocks)
    others = sum(not regex.fullmatch(HEADING, block) for block in paragraphs(text)) - len(blocks)
    most = max(len(blocks), sum(map(len, blocks))) + max(others, 0)
    return {"": len(blocks), "that end with a mark": ended or min(1, len(blocks)), "with every line and list": most}


def _items(text: str, rule: Count) -> Counts:
    marked, lines = items(text), text.split("\n")
    maybe = sum(bool(regex.match(_MAYBE_ITEM, line)) for line in lines)
    if not marked:
        loose = max(len(_lines(text)), len(regex.findall(r"[,;、，；·/]", text)) + 1) if rule.max != 0 and text else 0
        return {"": 0, "of any kind": maybe, "lines or what commas set apart": max(maybe, loose)}
    top = top_level(marked)
    kinds = [sum(mark == kind for _, mark, _ in top) for kind in {mark for _, mark, _ in top}]
    right = sum(rule.mark == "any" or (mark == "1") == (rule.mark == "number") for _, mark, _ in marked)
    inline = len(regex.findall(r"(?<=\s)(?:[•‣●▪◦]|\(?\d{1,2}[.)])(?=\s)", " ".join(item for _, _, item in marked)))
    return {
        "": len(top),
        "in one list": min([*kinds, *lists(text), right]),
        "with nested ones": len(marked) + maybe + inline,
    }


def headings(text: str, level: int | None) -> Counts:
    """Return the number of Markdown headings, of one level where one is named; outside code."""
    outside = regex.sub(CODE, "", text)
    levels = [len(match["level"] or "") for match in regex.finditer(rf"(?m)^(?:{HEADING})$", outside)]
    real = [depth for depth in levels if depth and depth == (level or depth)]
    titled = len(real) > 1 and real.count(real[0]) == 1 and not level  # a title above the sections
    return {
        "": len(real),
        "without the title": len(real) - titled,
        "with lines in bold letters": len(real) + levels.count(0),  # which some take for headings
    }


def emoji(text: str) -> Counts:
    sure = sum(bool(regex.search(EMOJI, char)) for char in _characters(text)) if regex.search(EMOJI, text) else 0
    most = len(regex.findall(EMOJI, text)) + len(regex.findall(FACE, regex.sub(EMOJI, " ", text)))
    return {"": sure, "with faces of signs": max(sure, most)}


def _hashtags(text: str) -> Counts:
    tags = regex.findall(r"(?<![\p{L}\p{N}_&/#])[#＃][\p{L}\p{N}_]*\p{L}[\p{L}\p{N}_]*", text)
    every = len(regex.findall(r"(?<!&)[#＃][\p{L}\p{N}_]+", text))
    return {"": len(tags), "each once": len({tag.casefold() for tag in tags}), "with numbers": max(every, len(tags))}


_COUNTERS: dict[str, Callable[[str], Counts]] = {
    "words": _words, "sentences": _sentences, "questions": _questions, "lines": _line_counts,
    "paragraphs": _paragraph_counts, "emoji": emoji, "hashtags": _hashtags,
    "characters": lambda text: _character_counts(text, None),
    "characters_no_spaces": lambda text: _character_counts(text, False),
    "characters_with_spaces": lambda text: _character_counts(text, True),
}  # fmt: skip
