"""What an answer begins and ends with, and texts that it has or must not have.

Present is what stands there letter by letter, as words of their own; absent is what no reading finds, in any case,
without accents, inflected or within another word. A value with digits is never found absent: 42 may be "forty-two".
"""

from __future__ import annotations

from collections.abc import Sequence

import regex

from truebench_hf.judging.rules.measuring.answers import Answer
from truebench_hf.judging.rules.measuring.outcomes import all_of, any_of
from truebench_hf.judging.rules.measuring.plain_text import plain, tidy
from truebench_hf.judging.rules.measuring.ranges import CountRange, enumerated, hull
from truebench_hf.judging.rules.measuring.remarks import is_note, leads_on
from truebench_hf.judging.rules.measuring.words import UNSPACED
from truebench_hf.normal_form import normal_form
from truebench_hf.rules import Contains, EndsWith, Excludes, StartsWith

# Signs and letters that are compared as one.
_SAME = str.maketrans({
    "’": "'", "‘": "'", "ʼ": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "–": "-", "—": "-", "‐": "-", "‑": "-", "…": "...",
    "？": "?", "！": "!", "؟": "?", "。": ".", "：": ":", "，": ",", "ё": "е", "ł": "l", "ø": "o", "đ": "d", "ß": "ss",
})  # fmt: skip
_MARKS, _BLANKS, _SIGN = regex.compile(r"\p{M}+"), regex.compile(r"\s+"), regex.compile(r"[\p{L}\p{N}]")
_EAST = r"\p{Hangul}\p{Han}\p{Hiragana}\p{Katakana}"
_BEFORE = rf"(?<!(?![{_EAST}])[\p{{L}}\p{{N}}_])(?<![\p{{L}}\p{{N}}][-‐‑])"  # in Korean, Chinese and Japanese no blank parts a Latin name from the rest
_BEHIND = rf"(?!(?![{_EAST}])[\p{{L}}\p{{N}}_])(?![-‐‑][\p{{L}}\p{{N}}])"  # "gluten-free" is one word, or two
_BEGIN = r"(?<=(?:\A|[\n.!?:…。\"“”„«»'‘’(\[—–-])\s*)"
_OPEN = regex.compile(rf"[{UNSPACED}]")  # no blanks tell where a word begins
_SHORT_HAN = regex.compile(r"\p{Han}{1,2}")
# A title of what was there before, which stands beside the answer.
_ORIGINAL = regex.compile(
    r"^[^\p{L}\p{N}\n]*(?:original|before|source|input|old|vorher|ausgangs|avant|antes|prima|przed|oryginał|до\b|исходн|оригинал|gốc|bản gốc|원문|기존|원본|수정 전|原文|元の|修正前|原|修改前)"
    r"[^\n.!?]{0,40}(?:[:：][^\n]*|[*_]{2}[ \t]*)$|^#{1,6}[ \t]+(?:\W*)(?:original|원문|原文|исходн|оригинал)",
    regex.IGNORECASE | regex.MULTILINE,
)
_ADDRESS = regex.compile(r"(?:https?://|www\.)\S*|(?<!\S)[^\s@]{1,100}@[^\s@]+")
_HANGUL = regex.compile(r"\p{Hangul}")  # particles follow
_STEM = 3  # letters of a word that its forms share at least


def starts_with(rule: StartsWith, answer: Answer) -> tuple[str, bool | None]:
    """(whether it does, in words, the same)."""
    value = tidy(rule.value)
    if answer.whole.startswith(value) and _parted(value[-1:], answer.whole[len(value) : len(value) + 1]):
        behind = answer.whole[len(value) :].split("\n", 1)  # "Hello! Here is the letter:"
        return f"begins with {_shown(value)}", None if len(behind) > 1 and leads_on(behind[0]) else True
    wanted = folded(value)
    maybe = any(_bare(text).startswith(_bare(wanted)) for text in _pieces(answer))
    return f"does not begin with {_shown(value)}", None if maybe or not _bare(wanted) else False


def ends_with(rule: EndsWith, answer: Answer) -> tuple[str, bool | None]:
    """(whether it does, in words, the same); a full-width question mark is one, too."""
    value = tidy(rule.value)
    whole, wanted = folded(answer.whole), folded(value)
    exact = answer.whole.endswith(value) or (not _SIGN.search(value) and whole.endswith(wanted))
    if exact and _parted(answer.whole[-len(value) - 1 : -len(value)], value[:1]):
        open_ = answer.fenced is not None or (not _SIGN.search(value) and _ends_otherwise(value, answer.whole))
        return f"ends with {_shown(value)}", None if open_ else True
    if _SIGN.search(value):
        maybe = any(_bare(text).endswith(_bare(wanted)) for text in _pieces(answer))
    else:  # a mark: closing quotation marks, brackets, stars and emoji may stand behind it
        maybe = any(wanted in _tail(text) for text in _pieces(answer))
    return f"does not end with {_shown(value)}", None if maybe else False


def _ends_otherwise(mark: str, text: str) -> bool:
    """Whether a mark at the end may be part of another (of dots), or of a remark behind the answer."""
    *before, last = text.split("\n\n")
    return (mark == "." and text.endswith(("..", "…"))) or (bool(before) and is_note(last))


def contains(rule: Contains, answer: Answer) -> tuple[str, bool | None]:
    """(how often each text stands there, whether that is within the bounds)."""
    ranges = [hull(_found(value, text, absent=True) for text in answer.readings) for value in rule.values]
    outcomes = [counts.within(rule.min, rule.max) for counts in ranges]
    return _counted(rule.values, ranges), any_of(outcomes) if rule.any else all_of(outcomes)


def excludes(rule: Excludes, answer: Answer) -> tuple[str, bool | None]:
    """(how often each text stands there, whether none does)."""
    ranges = [hull(_found(value, text) for text in answer.readings) for value in rule.values]
    met = all_of(counts.within(0, 0) for counts in ranges)
    return _counted(rule.values, ranges), None if met is False and _ORIGINAL.search(answer.whole) else met


def folded(text: str) -> str:
    """A text as a lenient reader compares it: without marks of Markdown, accents, case and kinds of quotation marks."""
    return " ".join(_lines(text)).strip()


def _lines(text: str) -> list[str]:
    text = normal_form("NFKD", plain(tidy(text)).translate(_SAME)).casefold().translate(_SAME)
    return [" ".join(line.split()) for line in _MARKS.sub("", text).split("\n")]


def _pieces(answer: Answer) -> list[str]:
    """All that the answer may be, or begin or end with: its readings and each of its lines, folded."""
    return [*map(folded, answer.readings), *_lines(answer.whole)]


def _bare(text: str) -> str:
    return str(regex.sub(r"[^\p{L}\p{N}]+", "", text)) or text


def _tail(text: str) -> str:
    """The signs behind the last letter or digit."""
    last = max((match.end() for match in _SIGN.finditer(text)), default=0)
    return text[last:]


def _parted(left: str, right: str) -> bool:
    """Whether a word ends between two characters."""
    if not left or not right or _OPEN.match(left) or _OPEN.match(right) or _HANGUL.match(right):
        return True
    return not (_SIGN.match(left) and _SIGN.match(right))


def _found(value: str, text: str, absent: bool = False) -> CountRange:
    """How often a value stands in a text. With `absent` it is asked whether it is missing."""
    value = tidy(value)
    prose = plain(text) if _ADDRESS.search(value) else _ADDRESS.sub(" ", plain(text))
    sure = len(_exactly(value).findall(prose))
    shown, wanted = folded(text), folded(value)
    loose = max(text.count(value), shown.count(wanted) if wanted else 0)
    if not _SIGN.search(value):
        return CountRange.of(sure, sure, loose)
    loose = max(loose, _bare(shown).count(_bare(wanted)))
    if not loose and (_form(wanted).search(shown) or (absent and any(map(str.isnumeric, value)))):
        loose = 1
    return CountRange.of(sure, sure, loose)


def _exactly(value: str) -> regex.Pattern[str]:
    """The value as it stands, where words begin and end; with a capital letter where a sentence may begin: May is no "may"."""
    first, capital = regex.escape(value[0]), value[0].upper()
    if len(capital) == 1 and capital != value[0]:
        first = f"(?:{first}|{_BEGIN}{regex.escape(capital)})"
    before = _BEFORE if _SIGN.match(value) and not _OPEN.match(value) else ""
    if _HANGUL.match(value):
        before = r"(?<!\p{Hangul})"  # "의사과정" has no apple
    behind = _BEHIND if _SIGN.match(value[-1]) and not (_OPEN.match(value[-1]) or _HANGUL.match(value[-1])) else ""
    rest = _BLANKS.sub(r"\\s+", regex.escape(value[1:], special_only=True, literal_spaces=True))
    if _SHORT_HAN.fullmatch(value):  # two characters between others may belong to two words
        return regex.compile(rf"(?<!\p{{Han}}){first}{rest}|{first}{rest}(?!\p{{Han}})")
    return regex.compile(before + first + rest + behind)


def _form(wanted: str) -> regex.Pattern[str]:
    """Words that may be forms of those of a text: they begin alike."""
    stems = [
        word[: max(_STEM, len(word) - 3)] if len(word) > 2 else word for word in regex.findall(r"[\p{L}\p{N}]+", wanted)
    ]
    if any(map(_OPEN.search, stems)):
        stems = [word[: max(2, len(word) - 2)] for word in stems]
        return regex.compile(r"[^\p{L}\p{N}]*".join(map(regex.escape, stems)))
    return regex.compile(
        _BEFORE + r"[\p{L}\p{N}]*[^\p{L}\p{N}]+(?:[\p{L}\p{N}]+[^\p{L}\p{N}]+)?".join(map(regex.escape, stems))
    )


def _counted(values: Sequence[str], ranges: Sequence[CountRange]) -> str:
    return enumerated(
        [
            f"{_shown(value)} {'once' if str(counts) == '1' else f'{counts} times'}"
            for value, counts in zip(values, ranges, strict=True)
        ]
    )


def _shown(value: str) -> str:
    return repr(value if len(value) <= 40 else f"{value[:39]}…")
