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

_ENOUGH = 60  # letters of a text that shows its language; a character of Chinese, Japanese, Korean counts as three
_LINE = 40  # the same of a line that is read alone
_SURE, _MOST, _TRACE = 0.95, 0.9, 0.03
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


@dataclass(frozen=True, slots=True)
class Shares:
    """Weighted letters by language; "" for those of lines that are too short to tell. `longest` are lines read alone."""

    letters: Counter[str]
    alone: frozenset[str]  # languages of lines that were long enough to be read alone
    doubt: bool = False  # whether some line could be of two languages

    @property
    def total(self) -> int:
        return sum(self.letters.values())

    def of(self, code: str) -> float:
        return self.letters[code] / self.total if self.total else 0.0


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
    known = [(code, number) for code, number in found.letters.most_common() if code]
    if not known or found.total < _ENOUGH:
        return "", None
    facts = ", ".join(f"{name_of(code)} {number / found.total:.0%}" for code, number in known[:4])
    facts += " of the letters" if known else ""
    return facts, _met(rule, found)


def _met(rule: Language, found: Shares) -> bool | None:
    wanted = set(rule.codes)
    share = sum(found.of(code) for code in wanted)
    others = found.alone - wanted
    if found.doubt:
        return None
    if share >= _MOST and not others:
        return True
    near = {code for group in _RELATED if group & wanted for code in group}
    if share <= _TRACE and not found.alone & wanted and others and not others & near:
        told = sum(number for code, number in found.letters.items() if code and code not in near)
        return False if told >= _MOST * found.total else None
    return None


@lru_cache(maxsize=128)
def shares(text: str) -> Shares:
    """The languages of a text."""
    letters, alone, doubt = Counter[str](), set[str](), False
    small: dict[str, list[str]] = {}
    text = plain(_NOISE.sub(" ", text))
    japanese = len(_PATTERNS["kana"].findall(text)) >= 0.1 * max(1, len(_PATTERNS["han"].findall(text)))
    for line in text.split("\n"):
        for script, part, weight in _by_script(line):
            code = {"han": "ja" if japanese else "zh", "kana": "ja"}.get(script, script)
            if code in _SHARED:
                if weight >= _LINE:
                    code, sure = _detected(part)
                    doubt |= not sure
                else:
                    small.setdefault(code, []).append(part)
                    continue
            letters[code] += weight
            if weight >= _LINE and code:
                alone.add(code)
    for parts in small.values():
        code, sure = _detected(" ".join(parts))
        number = sum(len(_LETTER.findall(part)) for part in parts)
        letters[code if sure and number >= _ENOUGH else ""] += number
    return Shares(letters, frozenset(alone), doubt)


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
    first, second, *_ = _detector().compute_language_confidence_values(text[:_LONGEST])
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
