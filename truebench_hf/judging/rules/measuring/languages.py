"""The language of an answer: decided only where all of it speaks for a language, or none of it (see `detection`)."""

from __future__ import annotations

from functools import cache

import regex

from truebench_hf.errors import UserError
from truebench_hf.extras import need
from truebench_hf.judging.rules.measuring.answers import Answer
from truebench_hf.judging.rules.measuring.detection import (
    ENOUGH,
    FREQUENT,
    LETTER,
    SHARED,
    Shares,
    by_script,
    detected,
    script_of,
    shares,
)
from truebench_hf.judging.rules.measuring.plain_text import plain
from truebench_hf.rules import Language

_MOST, _TRACE = 0.9, 0.03
_UNREAD = 0.3  # share of short lines that may go with the rest
# Languages that a short text of one may be taken for the other.
_RELATED = (
    {"es", "pt", "ca", "it"}, {"da", "nb", "nn", "sv"}, {"hr", "bs", "sr", "sl"}, {"cs", "sk", "pl"}, {"id", "ms"},
    {"ru", "uk", "be", "bg", "mk", "sr"}, {"af", "nl"}, {"fi", "et"}, {"tr", "az"}, {"zh", "ja"}, {"hi", "mr"}, {"fa", "ar", "ur"},
)  # fmt: skip
_TRIED = frozenset(("en", "ko", "es", "fr", "it", "de", "pl", "pt", "ru", "ja", "vi", "zh"))
# How models begin and close in English, whatever they are asked in.
_FRAME = regex.compile(
    r"[:!]\s*\Z|\A(?:sure|certainly|of course|here|okay|let me know|i hope|hope this|feel free|please let|note)\b",
    regex.IGNORECASE,
)
_ENGLISH = regex.compile(
    r"\b(?:sure|certainly|of course|here is|here are|here['’]s|let me know|i hope|hope this|feel free)\b",
    regex.IGNORECASE,
)


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
    if found.total < ENOUGH:
        return "", None
    parts = [f"{name_of(code)} {number / found.total:.0%}" for code, number in found.letters.most_common(4)]
    rest = found.unread.total() / found.total
    parts += [f"lines too short to tell {rest:.0%}"] if rest >= 0.01 else []
    return f"{', '.join(parts)} of the letters", _met(rule, found, answer.whole)


def _met(rule: Language, found: Shares, answer: str) -> bool | None:
    wanted = set(rule.codes)
    mine = sum(found.letters[code] for code in wanted)
    kindred = sum(found.unread[script] for script in {script_of(code) for code in wanted})
    others, near = found.alone - wanted, {code for group in _RELATED if group & wanted for code in group}
    scripts = {script_of(code) for code in wanted}
    if near and not wanted <= _TRIED and found.total < 3 * ENOUGH:
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
    told = all(
        code in FREQUENT or script_of(code) not in SHARED for code in others
    )  # not Slovene for Russian in Latin letters
    if others and told and not others & near and not found.alone & wanted and mine <= _TRACE * found.total:
        return False if kindred <= _UNREAD * found.total and not found.doubts & scripts else None
    return None


def _framed(answer: str, scripts: set[str], wanted: set[str]) -> bool:
    """Whether the first or the last line is a sentence in another language, as "Sure! Here is the summary:" often is."""
    lines = [line for line in plain(answer).split("\n") if LETTER.search(line)]
    for line in (lines[0], lines[-1]) if lines else ():
        found = by_script(line)
        kinds = {{"kana": "han"}.get(script, script) for script, _, _ in found}
        if found and not kinds & scripts and (len(line.split()) > 2 or not line.isascii()):
            return True
        if len(lines) > 1 and "en" not in wanted and _ENGLISH.search(line):
            return True
        if len(lines) > 1 and _FRAME.search(line) and kinds <= set(SHARED):
            code, sure = detected(line)
            if sure and code not in wanted:
                return True
    return False


@cache
def name_of(code: str) -> str:
    """The English name of a language."""
    from lingua import Language as Known

    return next((one.name.title() for one in Known.all() if one.iso_code_639_1.name.lower() == code), code)
