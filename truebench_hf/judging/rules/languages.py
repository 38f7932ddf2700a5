"""In which languages an answer is written, line by line: by its scripts, and by lingua where several share one.

Lingua reads by its trigrams only (80 MB of memory instead of 1 GB), which needs no more than a sentence; shorter lines
of one script are read together. Code, addresses and tags are in no language. A rule is decided only where all of the
answer speaks for it, or none of it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import regex

from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.judging.rules.answers import Answer
from truebench_hf.judging.rules.plain import plain
from truebench_hf.rules import Language

# Letters that show a language; a character of Chinese, Japanese, Korean counts as three. Of 200 sentences of this length
# in 12 languages none is taken for another.
_ENOUGH = 45
_SURE = 0.95
_MOST, _TRACE = 0.9, 0.03
_UNREAD = 0.3  # share of short lines that may go with the rest
_HINT, _HINTED = 15, 60  # letters of a line that gives a hint, and how many lines are asked for one
_LONGEST = 600  # letters of a line that are read
_NOISE = regex.compile(
    r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)|`[^`\n]*`|https?://\S+|www\.\S+|(?<!\S)[^\s@]{1,100}@[^\s@]+|</?[A-Za-z][^<>\n]{0,200}>"
    r"|[@#][\p{L}\p{N}_]+|\$\$?[^$\n]{1,200}\$\$?|\\[A-Za-z]+|(?<![\p{L}_])[\p{L}_]*[_/\\]\S*",
    regex.MULTILINE | regex.DOTALL,
)
_LETTER = regex.compile(r"\p{L}")
_SCRIPTS = {
    "ko": r"\p{Hangul}", "kana": r"[\p{Hiragana}\p{Katakana}]", "han": r"\p{Han}", "latin": r"\p{Latin}",
    "cyrillic": r"\p{Cyrillic}", "arabic": r"\p{Arabic}", "devanagari": r"\p{Devanagari}", "hebrew": r"\p{Hebrew}",
    "th": r"\p{Thai}", "el": r"\p{Greek}", "hy": r"\p{Armenian}", "ka": r"\p{Georgian}", "bn": r"\p{Bengali}",
    "ta": r"\p{Tamil}", "te": r"\p{Telugu}", "gu": r"\p{Gujarati}", "pa": r"\p{Gurmukhi}",
}  # fmt: skip
_PATTERNS = {name: regex.compile(pattern) for name, pattern in _SCRIPTS.items()}
_SHARED = ("latin", "cyrillic", "arabic", "devanagari", "hebrew")  # scripts of several languages
_WEIGHT = 3
# Languages that a short text of one may be taken for the other.
_RELATED = (
    {"es", "pt", "ca", "it"}, {"da", "nb", "nn", "sv"}, {"hr", "bs", "sr", "sl"}, {"cs", "sk", "pl"}, {"id", "ms"},
    {"ru", "uk", "be", "bg", "mk", "sr"}, {"af", "nl"}, {"fi", "et"}, {"tr", "az"}, {"zh", "ja"}, {"hi", "mr"}, {"fa", "ar", "ur"},
)  # fmt: skip


_TRIED = frozenset(("en", "ko", "es", "fr", "it", "de", "pl", "pt", "ru", "ja", "vi", "zh"))
# Languages that short lines are likely to be in; what looks like another one is mostly names.
_FREQUENT = frozenset(
    ("en", "de", "fr", "es", "it", "pt", "pl", "vi", "nl", "tr", "id", "sv", "da", "ru", "uk", "ar", "hi")
)


_PIECED = 30  # letters of such a piece
_PIECES = 12  # pieces of a text that are read each for itself
_PIECE = regex.compile(r"[.!?…。؟।][\"'”’»)]*\s+|[\"“”„«»]")  # a quotation or a sentence may be in another language
# How models begin and close in English, whatever they are asked in.
_FRAME = regex.compile(
    r"[:!]\s*\Z|\A(?:sure|certainly|of course|here|okay|let me know|i hope|hope this|feel free|please let|note)\b",
    regex.IGNORECASE,
)
_ENGLISH = regex.compile(
    r"\b(?:sure|certainly|of course|here is|here are|here['’]s|let me know|i hope|hope this|feel free)\b",
    regex.IGNORECASE,
)
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


def unavailable() -> str:
    """Why languages cannot be told here, "" where they can."""
    try:
        need("", "lingua")
    except UserError:
        return "the language was not measured, which needs lingua: pip install lingua-language-detector"
    return ""


def language(rule: Language, answer: Answer) -> tuple[str, bool | None]:
    """(languages with their shares of the letters, whether all of it is in one of those asked for)."""
    found = shares(answer.whole)
    if found.total < _ENOUGH:
        return "", None
    parts = [f"{name_of(code)} {number / found.total:.0%}" for code, number in found.letters.most_common(4)]
    rest = found.unread.total() / found.total
    parts += [f"lines too short to tell {rest:.0%}"] if rest >= 0.01 else []
    return f"{', '.join(parts)} of the letters", _met(rule, found, answer.whole)


def _met(rule: Language, found: Shares, answer: str) -> bool | None:
    wanted = set(rule.codes)
    mine = sum(found.letters[code] for code in wanted)
    kindred = sum(found.unread[script] for script in {_script_of(code) for code in wanted})
    others, near = found.alone - wanted, {code for group in _RELATED if group & wanted for code in group}
    scripts = {_script_of(code) for code in wanted}
    if near and not wanted <= _TRIED and found.total < 3 * _ENOUGH:
        return None
    if (
        mine
        and not others
        and not _framed(answer, scripts, wanted)
        and not found.doubts
        and mine + kindred >= _MOST * found.total
        and kindred <= _UNREAD * found.total
    ):
        return True
    if others and not others & near and not found.alone & wanted and mine <= _TRACE * found.total:
        return False if kindred <= _UNREAD * found.total and not found.doubts & scripts else None
    return None


def _framed(answer: str, scripts: set[str], wanted: set[str]) -> bool:
    """Whether the first or the last line is a sentence in another language, as "Sure! Here is the summary:" often is."""
    lines = [line for line in plain(answer).split("\n") if _LETTER.search(line)]
    for line in (lines[0], lines[-1]) if lines else ():
        found = _by_script(line)
        kinds = {{"kana": "han"}.get(script, script) for script, _, _ in found}
        if found and not kinds & scripts and (len(line.split()) > 2 or not line.isascii()):
            return True
        if len(lines) > 1 and "en" not in wanted and _ENGLISH.search(line):
            return True
        if len(lines) > 1 and _FRAME.search(line) and kinds <= set(_SHARED):
            code, sure = _detected(line)
            if sure and code not in wanted:
                return True
    return False


def _script_of(code: str) -> str:
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
        for script, part, weight in _by_script(line):
            code, sure = {"han": "ja" if japanese else "zh", "kana": "ja"}.get(script, script), True
            if code in _SHARED and weight < _ENOUGH:
                small.setdefault(code, []).append(part)
                continue
            if code == "ja" and script == "han" and weight >= _ENOUGH and _CHINESE.search(part or line):
                sure = False  # Chinese beside Japanese
            if code == "zh" and not chinese:
                sure = False  # names and titles are alike in Japanese
            if code in _SHARED:
                code, sure = _detected(part)
                for piece in _pieces(part)[:left]:
                    left -= 1
                    other, clear = _detected(piece)
                    sure = sure and not (clear and other != code and other in _FREQUENT)
            if not sure:
                doubts.add(script)
            letters[code] += weight
            if weight >= _ENOUGH:
                alone.add(code)
    unread = Counter[str]()
    for script, parts in small.items():
        number = sum(len(_LETTER.findall(part)) for part in parts)
        code, sure = _detected(" ".join(parts))
        hints, told = _hints(parts)
        known = code in alone or (code in _FREQUENT and told >= _MOST * number)
        sure = sure and number >= _ENOUGH and known and hints <= {code}
        if sure:
            letters[code] += number
            alone.add(code)
        else:
            unread[script] += number
        if len(hints | (alone & _FREQUENT if hints else set())) > 1:
            doubts.add(script)
    return Shares(letters, unread, frozenset(alone), frozenset(doubts))


def _pieces(part: str) -> list[str]:
    """Sentences and quotations of a line that are long enough to be read; none where it is but one."""
    found = [one for one in _PIECE.split(part) if len(_LETTER.findall(one)) >= _HINT]
    return [one for one in found if len(_LETTER.findall(one)) >= _PIECED] if len(found) > 1 else []


def _hints(parts: list[str]) -> tuple[set[str], int]:
    """(the languages that short lines are likely to be in, the letters of the lines that tell)."""
    found, letters = set[str](), 0
    for part in parts[:_HINTED]:
        number = len(_LETTER.findall(part))
        code, sure = _detected(part) if number >= _HINT else ("", False)
        if sure and code in _FREQUENT:
            found.add(code)
            letters += number
    return found, letters


def _by_script(line: str) -> list[tuple[str, str, int]]:
    """(script, the words of it, letters with their weight) of a line; Han goes with kana."""
    numbers = {name: len(pattern.findall(line)) for name, pattern in _PATTERNS.items()} if _LETTER.search(line) else {}
    if numbers.get("kana"):
        numbers["kana"] += numbers.pop("han")
    found = []
    for name, number in numbers.items():
        if number:
            words = [word for word in line.split() if _PATTERNS[name].search(word)] if name in _SHARED else []
            found.append((name, " ".join(words), number * (_WEIGHT if name in ("ko", "kana", "han") else 1)))
    return found


def _detected(text: str) -> tuple[str, bool]:
    """(language, whether it is sure)."""
    whole = text[:_LONGEST].encode("utf-8", "replace").decode()  # half an emoji is no text to the detector
    first, second, *_ = _detector().compute_language_confidence_values(whole)
    code = str(first.language.iso_code_639_1.name).lower()
    return code, bool(first.value >= _SURE and second.value <= 1 - _SURE)


@cache
def _detector() -> Any:
    from lingua import LanguageDetectorBuilder

    return LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()


@cache
def name_of(code: str) -> str:
    """The English name of a language."""
    from lingua import Language as Known

    return next((one.name.title() for one in Known.all() if one.iso_code_639_1.name.lower() == code), code)
