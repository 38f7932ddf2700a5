"""In which languages a text is written, line by line: by its scripts, and by lingua where several share one.

Lingua reads by its trigrams only (80 MB of memory instead of 1 GB), which needs no more than a sentence; shorter lines
of one script are read together. Code, addresses and tags are in no language.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import regex

from truebench_hf.judging.rules.measuring.plain_text import plain

# Letters that show a language; a character of Chinese, Japanese, Korean counts as three. Of 200 sentences of this length
# in 12 languages none is taken for another.
ENOUGH = 45
_SURE = 0.95
_HINTING = 0.9  # share of the letters of short lines that must give the same hint
_HINT, _HINTED = 15, 60  # letters of a line that gives a hint, and how many lines are asked for one
_NAMED = 0.7  # share of words with a capital letter that may be names
_LONGEST = 600  # letters of a line that are read
_NOISE = regex.compile(
    r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)|`[^`\n]*`|https?://\S+|www\.\S+|(?<!\S)[^\s@]{1,100}@[^\s@]+|</?[A-Za-z][^<>\n]{0,200}>"
    r"|[@#][\p{L}\p{N}_]+|\$\$?[^$\n]{1,200}\$\$?|\\[A-Za-z]+|(?<![\p{L}_])[\p{L}_]*[_/\\]\S*",
    regex.MULTILINE | regex.DOTALL,
)
LETTER = regex.compile(r"\p{L}")
_SCRIPTS = {
    "ko": r"\p{Hangul}", "kana": r"[\p{Hiragana}\p{Katakana}]", "han": r"\p{Han}", "latin": r"\p{Latin}",
    "cyrillic": r"\p{Cyrillic}", "arabic": r"\p{Arabic}", "devanagari": r"\p{Devanagari}", "hebrew": r"\p{Hebrew}",
    "th": r"\p{Thai}", "el": r"\p{Greek}", "hy": r"\p{Armenian}", "ka": r"\p{Georgian}", "bn": r"\p{Bengali}",
    "ta": r"\p{Tamil}", "te": r"\p{Telugu}", "gu": r"\p{Gujarati}", "pa": r"\p{Gurmukhi}",
}  # fmt: skip
_PATTERNS = {name: regex.compile(pattern) for name, pattern in _SCRIPTS.items()}
SHARED = ("latin", "cyrillic", "arabic", "devanagari", "hebrew")  # scripts of several languages
_WEIGHT = 3
# Languages that short lines are likely to be in; what looks like another one is mostly names.
FREQUENT = frozenset(
    ("en", "de", "fr", "es", "it", "pt", "pl", "vi", "nl", "tr", "id", "sv", "da", "ru", "uk", "ar", "hi")
)
_PIECED = 30  # letters of such a piece
_PIECES = 12  # pieces of a text that are read each for itself
_PIECE = regex.compile(r"[.!?…。؟।][\"'”’»)]*\s+|[\"“”„«»]")  # a quotation or a sentence may be in another language
# Characters of Chinese that Japanese has no use for.
_CHINESE = regex.compile(r"[的了这們们吗嗎么麼您你她它呢吧把让讓给給还還没說说对對这這个個为请与时过开关业务]")


@dataclass(frozen=True, slots=True)
class Shares:
    """Weighted letters by language, and by script those of lines too short to tell. `alone`: languages of longer lines.

    `doubts` are the scripts in which a line could be of another language than the rest.
    """

    letters: Counter[str]
    unread: Counter[str]
    alone: frozenset[str]
    doubts: frozenset[str] = frozenset()

    @property
    def total(self) -> int:
        return self.letters.total() + self.unread.total()


@lru_cache(maxsize=8)
def shares(text: str) -> Shares:
    """The languages of a text."""
    letters, alone, doubts = Counter[str](), set[str](), set[str]()
    small: dict[str, list[str]] = {}
    text = plain(_NOISE.sub(" ", text))
    japanese = len(_PATTERNS["kana"].findall(text)) >= 0.1 * max(1, len(_PATTERNS["han"].findall(text)))
    chinese = _CHINESE.search(text) is not None
    left = _PIECES
    for line in text.split("\n"):
        for script, part, weight in by_script(line):
            code, sure = {"han": "ja" if japanese else "zh", "kana": "ja"}.get(script, script), True
            if code in SHARED and (weight < ENOUGH or (_is_names(part) and detected(part)[0] != "de")):
                small.setdefault(code, []).append(part)
                continue
            if code == "ja" and script == "han" and weight >= ENOUGH and _CHINESE.search(part or line):
                sure = False  # Chinese beside Japanese
            if code == "zh" and not chinese:
                sure = False  # names and titles are alike in Japanese
            if code in SHARED:
                code, sure = detected(part)
                for piece in _pieces(part)[:left]:
                    left -= 1
                    other, clear = detected(piece)
                    sure = sure and not (clear and other != code and other in FREQUENT)
            if not sure:
                doubts.add(script)
            letters[code] += weight
            if weight >= ENOUGH:
                alone.add(code)
    unread = Counter[str]()
    for script, parts in small.items():
        number = sum(len(LETTER.findall(part)) for part in parts)
        code, sure = detected(" ".join(parts))
        hints, told = _hints(parts)
        known = code in alone or (code in FREQUENT and told >= _HINTING * number)
        sure = sure and number >= ENOUGH and known and hints <= {code}
        if sure:
            letters[code] += number
            alone.add(code)
        else:
            unread[script] += number
        if len(hints | (alone & FREQUENT if hints else set())) > 1:
            doubts.add(script)
    return Shares(letters, unread, frozenset(alone), frozenset(doubts))


def _is_names(part: str) -> bool:
    """Whether words are mostly names, or a title: they say little of the language around them."""
    words = part.split()
    return not part.isupper() and sum(word[0].isupper() for word in words) > _NAMED * len(words)


def _pieces(part: str) -> list[str]:
    """Sentences and quotations of a line that are long enough to be read; none where it is but one."""
    found = [one for one in _PIECE.split(part) if len(LETTER.findall(one)) >= _HINT]
    return [one for one in found if len(LETTER.findall(one)) >= _PIECED] if len(found) > 1 else []


def _hints(parts: list[str]) -> tuple[set[str], int]:
    """(the languages that short lines are likely to be in, the letters of the lines that tell)."""
    found, letters = set[str](), 0
    for part in parts[:_HINTED]:
        number = len(LETTER.findall(part))
        code, sure = detected(part) if number >= _HINT else ("", False)
        if sure and code in FREQUENT:
            found.add(code)
            letters += 0 if _is_names(part) else number
    return found, letters


def by_script(line: str) -> list[tuple[str, str, int]]:
    """(script, the words of it, letters with their weight) of a line; Han goes with kana."""
    numbers = {name: len(pattern.findall(line)) for name, pattern in _PATTERNS.items()} if LETTER.search(line) else {}
    if numbers.get("kana"):
        numbers["kana"] += numbers.pop("han")
    found = []
    for name, number in numbers.items():
        if number:
            words = [word for word in line.split() if _PATTERNS[name].search(word)] if name in SHARED else []
            found.append((name, " ".join(words), number * (_WEIGHT if name in ("ko", "kana", "han") else 1)))
    return found


def detected(text: str) -> tuple[str, bool]:
    """(language, whether it is sure)."""
    whole = text[:_LONGEST].encode("utf-8", "replace").decode()  # half an emoji is no text to the detector
    first, second, *_ = _detector().compute_language_confidence_values(whole)
    code = str(first.language.iso_code_639_1.name).lower()
    return code, bool(first.value >= _SURE and second.value <= 1 - _SURE)


@cache
def _detector() -> Any:
    from lingua import LanguageDetectorBuilder

    return LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()


def script_of(code: str) -> str:
    """The script that a language is read by, where it shares one with others."""
    known = {
        "cyrillic": "ru uk be bg mk sr kk mn",
        "arabic": "ar fa ur",
        "devanagari": "hi mr",
        "hebrew": "he",
        "han": "zh ja",
    }
    return next(
        (script for script, codes in known.items() if code in codes.split()), "latin" if code not in _SCRIPTS else code
    )
