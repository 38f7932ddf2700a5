"""Characters: how many there are, and those that must not be there (in a case, digits, emoji, punctuation, Markdown)."""

from __future__ import annotations

import unicodedata

import regex

from truebench_hf.judging.rules.measuring.answers import Answer
from truebench_hf.judging.rules.measuring.outcomes import all_of
from truebench_hf.judging.rules.measuring.plain_text import plain
from truebench_hf.judging.rules.measuring.ranges import CountRange, enumerated, hull
from truebench_hf.normal_form import normal_form
from truebench_hf.rules import Case, Class, Forbidden

_EMOJI = regex.compile(
    r"\p{RI}{2}|[\p{Emoji_Presentation}--\p{RI}]|\p{Extended_Pictographic}\ufe0f|[0-9#*]\ufe0f?\u20e3", regex.V1
)
_LOOSE_EMOJI = regex.compile(
    r"\p{Extended_Pictographic}|\p{RI}|\u20e3|[:;=8xX]['’]?-?[()DPpOo3/\\|]|\^_?\^|<3|[ㅋㅎㅠㅜ]{2,}"
)
_HASHTAG = regex.compile(r"(?<![\p{L}\p{N}_&/#])[#＃][\p{L}\p{N}_]*\p{L}[\p{L}\p{N}_]*")
_URL = regex.compile(r"(?:https?://|www\.)\S+|(?<!\S)[^\s@]{1,100}@[^\s@]+|`[^`\n]*`")
_FENCES = regex.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", regex.MULTILINE | regex.DOTALL)

_GRAPHEME = regex.compile(r"\X")
_COMPOSED = regex.compile(
    r"[\p{M}\p{Cf}\p{Emoji_Modifier}\p{Regional_Indicator}\u1100-\u11ff\ua960-\ua97c\ud7b0-\ud7ff]"
)
_EAST = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]")
# What surely is one of a class, and what some take for one.
_CLASSES: dict[Class, tuple[str, str]] = {
    "digits": (r"\p{Nd}", r"\p{N}"),
    "letters": (r"\p{L}", r"[\p{L}\p{M}]"),
    "latin_letters": (r"\p{Latin}", r"[\p{Latin}\uff21-\uff3a\uff41-\uff5a]"),
    "uppercase": (r"\p{Lu}", r"[\p{Lu}\p{Lt}\u24b6-\u24cf]"),
    "lowercase": (r"\p{Ll}", r"[\p{Ll}ªº]"),
    "punctuation": (r"[.,!?;:。，、！？；：؟،؛…]", r"[\p{P}\p{S}]"),
    "commas": (r"(?<!\d)[,，،]|[,，،](?!\d)", r"[,，،、﹐‚٬]"),
    "markdown": (
        r"\*\*[^*\s][^*\n]*\*\*|^#{1,6} +\S|^```|^\|.*\|[ \t]*$|\]\(http",
        r"[*_`#>|~]|^[ \t]*[-+] |^[ \t]*\d+[.)] |\]\(",
    ),
}
_SMALL_WORDS = frozenset(
    ("a", "an", "and", "as", "at", "but", "by", "for", "from", "in", "nor", "of", "on", "or", "the", "to", "with")
)
# Pictures of a sign, which some take for it.
_PICTURES = {"!": "❗❕‼⁉⁈", "?": "❓❔⁇⁉⁈"}
_COMPILED = {
    name: (regex.compile(sure, regex.MULTILINE), regex.compile(loose, regex.MULTILINE))
    for name, (sure, loose) in _CLASSES.items()
}


def characters(text: str, spaces: bool | None = None) -> CountRange:
    """Characters as people see them (grapheme clusters), with or without `spaces`.

    None: as people count in the script; without blanks in Chinese, Japanese and Korean, where some count them too. What
    is most is the count of a program that knows code points, Markdown and all.
    """
    shown, marked = graphemes(plain(text)), graphemes(text)
    bare = sum(1 for one in shown if not one.isspace())
    whole = sum(1 for one in shown if one != "\n")
    most = sum(len(one) for one in marked if spaces is not False or not one.isspace())
    usual = bare if spaces is False or (spaces is None and _EAST.search(text)) else whole
    return CountRange.of(usual, usual, most)


def graphemes(text: str) -> list[str]:
    """The characters of a text as people see them."""
    return _GRAPHEME.findall(text) if _COMPOSED.search(text) else list(text)


def emoji(text: str) -> CountRange:
    """Emoji; signs that are shown as text, and faces made of punctuation, may count or not."""
    sure = _whole(_EMOJI, text)
    return CountRange.of(
        sure, sure, max(len(_EMOJI.findall(text)), sure) + len(_LOOSE_EMOJI.findall(_EMOJI.sub(" ", text)))
    )


def _whole(pattern: regex.Pattern[str], text: str) -> int:
    """How many characters, as people see them, have a match: a family is one emoji."""
    if not pattern.search(text):
        return 0
    return sum(1 for one in regex.findall(r"\X", text) if pattern.search(one))


def hashtags(text: str) -> CountRange:
    """Hashtags."""
    found = _HASHTAG.findall(text)
    glued = sum(
        len(regex.findall("[#＃]", run)) for run in regex.findall(r"(?<!\S)(?:[#＃][\p{L}\p{N}_]+)+", text)
    )  # "#a#b", "#123"
    return CountRange.of(len({one.casefold() for one in found}), len(found), max(len(found), glued))


def forbidden(rule: Forbidden, answer: Answer) -> tuple[str, bool | None]:
    """(how often the characters stand there, whether they are absent)."""
    ranges: list[CountRange] = []
    facts: list[str] = []
    for name in rule.classes:
        counts = hull(emoji(text) if name == "emoji" else _class(name, text) for text in answer.readings)
        ranges.append(counts)
        facts.append(
            f"{counts} {name.replace('_', ' ') if counts.usual != 1 or name in ('emoji', 'markdown') else name.removesuffix('s').replace('_', ' ')}"
        )
    for sign in dict.fromkeys(one for one in rule.characters if not one.isspace()):
        counts = hull(_sign(sign, text) for text in answer.readings)
        ranges.append(counts)
        facts.append(f"{counts} of {sign!r}")
    outcomes = [one.within(0, 0) for one in ranges]
    return enumerated(facts), all_of(outcomes)


def _class(name: Class, text: str) -> CountRange:
    """How many of a class: surely where a page shows them in prose, at most with all marks, links and code."""
    sure, loose = _COMPILED[name]
    shown = text if name == "markdown" else _prose(text)
    certain = len(sure.findall(shown))
    return CountRange.of(certain, certain, len(loose.findall(text)))


def _prose(text: str) -> str:
    """The text without what only looks like it: code, addresses and the marks of lists."""
    text = regex.sub(
        r"^[ \t]*\(?(?:\d{1,3}|[A-Za-z])[.)][ \t]", "", plain(_FENCES.sub("", text)), flags=regex.MULTILINE
    )
    return str(_URL.sub(" ", text))


def _sign(sign: str, text: str) -> CountRange:
    exact, folded = _prose(text).count(sign), unicodedata.normalize("NFKC", sign).casefold()
    every = sum(text.count(one) for one in {sign, sign.upper(), sign.lower()} if one)
    loose = normal_form("NFKD", text) if sign.isalpha() else normal_form("NFKC", text)  # is "é" an "e"?
    pictures = sum(map(text.count, _PICTURES.get(sign, "")))
    return CountRange.of(exact, exact, max(every, loose.casefold().count(folded)) + pictures)


def case(rule: Case, answer: Answer) -> tuple[str, bool | None]:
    """(how many letters or words are in the wrong case, whether none is)."""
    if rule.form == "title":
        return _title(answer)
    wrong: Class = "lowercase" if rule.form == "upper" else "uppercase"
    counts = hull(_class(wrong, text) for text in answer.readings)
    cased = regex.search(r"[\p{Lu}\p{Ll}]", answer.core)
    met = counts.within(0, 0) if cased else None
    return f"{counts} {wrong} letter{'' if counts.usual == 1 else 's'}", met


def _title(answer: Answer) -> tuple[str, bool | None]:
    """Small words may be small in a title, so that only long ones can fail it; some hold that they must be small."""
    found = [
        word for word in regex.findall(r"[\p{L}\p{M}'’]+", answer.whole) if regex.match(r"[\p{Lu}\p{Lt}\p{Ll}]", word)
    ]
    small = [word for word in found if word[0].islower()]
    facts = f"{len(small)} of {len(found)} words begin with a small letter"
    if not found:
        return "no word that could begin with a capital letter", None
    core = [word for word in regex.findall(r"[\p{L}\p{M}'’]+", plain(answer.core)) if len(word) > 4]
    half = core and sum(word[0].islower() for word in core) > len(core) / 2
    capitals = all(word.isupper() for word in found) or any(word.lower() in _SMALL_WORDS for word in found[1:])
    return facts, (None if capitals else True) if not small else False if half else None
