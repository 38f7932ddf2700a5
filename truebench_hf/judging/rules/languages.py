"""The language of an answer, told by lingua over the letters that are prose: without code, addresses and quotations.

It is decided only where all of it speaks for a language, or none of it. Lingua reads by its trigrams only (80 MB of memory
instead of 1 GB), which needs no more than a sentence; shorter lines are read together.
"""

from __future__ import annotations

from collections import Counter
from functools import cache, lru_cache
from typing import Any

import regex

from truebench_hf.judging.rules.readings import Answer, plain, table, words
from truebench_hf.rules import Language

# Letters that show a language; a character of Chinese, Japanese, Korean counts as three. Of 200 sentences of this length
# in 12 languages none is taken for another.
_ENOUGH, _HINTING, _SURE, _PIECES = 45, 25, 0.95, 24
_NOISE = (
    r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)|`[^`\n]*`|https?://\S+|www\.\S+|(?<!\S)[^\s@]{1,100}@[^\s@]+"
    r"|</?[A-Za-z][^<>\n]{0,200}>|[@#][\p{L}\p{N}_]+|\$\$?[^$\n]{1,200}\$\$?|\\[A-Za-z]+|(?<![\p{L}_])[\p{L}_]*[_/\\]\S*"
)
_QUOTED = r"“[^“”\n]{1,400}”|„[^„“”\n]{1,400}[“”]|«[^«»\n]{1,400}»|\"[^\"\n]{1,400}\"|「[^「」\n]{1,400}」|『[^『』\n]{1,400}』"


def language(rule: Language, given: Answer) -> tuple[str, bool | None]:
    """Return (languages with their shares of the letters, whether all of it is in one of those asked for)."""
    prose, letters, unread, doubts = _shares(given.whole)
    total = letters.total() + unread.total()
    if total < _ENOUGH:
        return _of_few_letters(prose, frozenset(rule.codes))
    shown = [f"{_name(code)} {number / total:.0%}" for code, number in letters.most_common(4)]
    shown += [f"too short to tell {unread.total() / total:.0%}"] if unread.total() >= 0.01 * total else []
    return f"{', '.join(shown)} of the letters", _met(frozenset(rule.codes), prose, letters, unread, doubts)


def _of_few_letters(prose: str, wanted: frozenset[str]) -> tuple[str, bool | None]:
    """Return what the script of a short text says: letters that one language alone uses show it, Latin ones show none."""
    scripts = set(_weights(prose))
    scripts = {"kana"} if scripts == {"kana", "han"} else scripts
    if len(scripts) != 1 or "latin" in scripts:
        return "too few letters to tell the language", None
    (script,) = scripts
    possible = {"ja"} if script == "kana" else set(table("shared").get(script, script).split())
    met = True if possible <= wanted else None if possible & wanted else False
    return f"letters of {' or '.join(map(_name, sorted(possible)))} alone", met


def _met(
    wanted: frozenset[str], prose: str, letters: Counter[str], unread: Counter[str], doubts: set[str]
) -> bool | None:
    total, scripts = letters.total() + unread.total(), set(map(_script, wanted))
    mine, kindred = sum(letters[code] for code in wanted), sum(unread[script] for script in scripts)
    others = {code for code in letters if code not in wanted and letters[code] >= _ENOUGH}
    near = {code for group in table("related") if wanted & set(group.split()) for code in group.split()}
    if (near and not wanted <= set(table("tried").split()) and total < 3 * _ENOUGH) or kindred > 0.3 * total:
        return None
    if mine and not others and not doubts and mine + kindred >= 0.9 * total:
        return None if _framed(prose, scripts, wanted) else True
    clear = bool(others) and others <= set(table("frequent").split()) and not others & near
    return False if clear and mine <= 0.03 * total and not doubts & scripts else None


@lru_cache(maxsize=8)
def _shares(text: str) -> tuple[str, Counter[str], Counter[str], set[str]]:
    """Return the prose, its letters by language, those too few to tell by script, and the scripts that leave a doubt."""
    prose = plain(regex.sub(_NOISE, " ", text))
    unquoted = regex.sub(_QUOTED, " ", prose)
    prose = unquoted if 2 * len(unquoted) > len(prose) else prose
    letters, unread, doubts = Counter[str](), Counter[str](), set[str]()
    weights = _weights(prose)
    east = weights.pop("han", 0) + weights.pop("kana", 0)
    if east:
        japanese = _weights(prose)["kana"] >= 0.1 * east
        letters["ja" if japanese else "zh"] = east
        if japanese == bool(regex.search(f"[{table('chinese')}]", prose)):  # both, or names and titles that are alike
            doubts.add("han")
    for script, number in weights.items():
        if script in table("shared"):
            known, rest, doubt = _read_script(script, prose)
            letters.update(known)
            unread[script] += rest
            doubts |= {script} if doubt else set()
        else:
            letters[script] = number
    return prose, letters, unread, doubts


def _read_script(script: str, prose: str) -> tuple[Counter[str], int, bool]:
    """Return the letters of one script by language, how many tell none, and whether parts speak for another language.

    A line that is long enough is read by itself, the others together; the sentences of a line and short lines may object.
    """
    known, hints, short = Counter[str](), Counter[str](), list[str]()
    for line in prose.split("\n"):
        line = " ".join(word for word in line.split() if regex.search(table("scripts")[script], word))
        number = _weights(line)[script]
        code = _detected(line) if number >= _ENOUGH and not _names(line) else ""
        if code:
            known[code] += number
        else:
            short.append(line)
        pieces = regex.split(r"(?<=[.!?…。؟।][\"'”’»)]*)\s+", line) if code else [line]
        for piece in pieces[:_PIECES]:
            weight = _weights(piece)[script]
            hint = _detected(piece) if weight >= _HINTING // (1 if code else 2) else ""
            hints[hint if hint in table("frequent").split() else ""] += 0 if _names(piece) else weight
    together = " ".join(short)
    rest = _weights(together)[script]
    code = _detected(together) if rest else ""
    usual = known.most_common(1)[0][0] if known else code
    if code and rest >= _ENOUGH and code == usual and (known or hints[code] >= 0.9 * rest):
        known[code] += rest
        rest = 0
    return known, rest, bool(set(hints) - {"", usual} - set(known))


def _names(piece: str) -> bool:
    """Return whether words are mostly names, or a title: they say little of the language around them."""
    capitals = sum(word[0].isupper() for word in piece.split())
    return not piece.isupper() and capitals > 0.7 * len(piece.split())


def _framed(prose: str, scripts: set[str], wanted: frozenset[str]) -> bool:
    """Return whether the first or last line is in another language, as "Sure! Here is the summary:" often is."""
    lines = [line for line in prose.split("\n") if regex.search(r"\p{L}", line)]
    english = r"(?i)\b(?:sure|here is|here are|here['’]s|let me know|hope|feel free)\b"
    for line in (lines[0], lines[-1]) if len(lines) > 1 else ():
        kinds = {"han" if script == "kana" else script for script in _weights(line)}
        code = _detected(line) if regex.search(rf"(?i)[:!]\s*\Z|{words('leads')}", line) else ""
        if (not kinds & scripts and (len(line.split()) > 2 or not line.isascii())) or code not in {"", *wanted}:
            return True
        if "en" not in wanted and regex.search(english, line):
            return True
    return False


def _weights(text: str) -> Counter[str]:
    """Return the letters by script; one of Chinese, Japanese and Korean counts as three."""
    if not regex.search(r"\p{L}", text):
        return Counter()
    found = {name: len(regex.findall(letter, text)) for name, letter in table("scripts").items()}
    return Counter(
        {name: number * (3 if name in ("ko", "kana", "han") else 1) for name, number in found.items() if number}
    )


def _script(code: str) -> str:
    """Return the script that a language is read by."""
    shared = (script for script, codes in table("shared").items() if code in codes.split())
    return code if code in table("scripts") else next(shared, "latin")


def _detected(text: str) -> str:
    """Return the language of a text; "" where it is not sure."""
    whole = text[:600].encode("utf-8", "replace").decode()  # half an emoji is no text to the detector
    first, second, *_ = _detector().compute_language_confidence_values(whole)
    sure = first.value >= _SURE and second.value <= 1 - _SURE
    return str(first.language.iso_code_639_1.name).lower() if sure else ""


@cache
def _detector() -> Any:
    from lingua import LanguageDetectorBuilder

    return LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()


@cache
def _name(code: str) -> str:
    from lingua import Language as Known

    return next((known.name.title() for known in Known.all() if known.iso_code_639_1.name.lower() == code), code)
