"""How many words a text has, in every way in which people count them.

Words are what blanks set apart, in Korean too; in scripts without blanks (Chinese, Japanese, Thai) a number of words
mostly means characters, so that the range goes from the fewest words that so many characters can make up to all
characters. Judges are told the same (`prompts/_rules.jinja`).
"""

from __future__ import annotations

import regex

from truebench_hf.judging.rules.measuring.characters import graphemes
from truebench_hf.judging.rules.measuring.plain_text import FENCE_LINE, plain
from truebench_hf.judging.rules.measuring.ranges import CountRange

UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}"
_LONGEST = 3  # characters that a word of such a script has on average, at the very most
_UNSPACED = regex.compile(rf"[{UNSPACED}ー々〆]")
_RUN = regex.compile(rf"\p{{Katakana}}[\p{{Katakana}}ー]*|[{UNSPACED}ー々〆]+")
_KATAKANA = regex.compile(r"\p{Katakana}")
_LETTER, _SAID = regex.compile(r"\p{L}"), regex.compile(r"[\p{L}\p{N}]")
_MARKER = regex.compile(r"^[ \t]*(?:[-*+•‣◦▪●○–—·>]|\(?\d{1,3}[.)、]|\(?[A-Za-z][.)])(?=[ \t])", regex.MULTILINE)
_DRAWN = regex.compile(r"[|#*_>=`~•‣◦▪●○-]+|[|:\-]+")
# Where some count two words in what blanks leave as one: well-known, and/or, one—two, e.g.this, l'eau; not in "don't".
_JOINT = regex.compile(
    r"(?<=[\p{L}\p{N}])(?:[-‐‑–—/+&=_~…:;]+|[.,](?=\p{L}))(?=[\p{L}\p{N}])"
    r"|(?<=\p{L})['’](?=[\p{L}\p{N}])(?!(?:t|s|re|ve|ll|d|m)(?!\p{L}))|(?<=\p{N})(?=\p{L}{2})",
    regex.IGNORECASE,
)


def words(text: str) -> CountRange:
    """Words of a text."""
    shown, unspaced = plain(text), bool(_UNSPACED.search(text))
    tokens = [token for token in shown.split() if _SAID.search(token)]
    usual = sum(_visible(token) if _UNSPACED.search(token) else 1 for token in tokens) if unspaced else len(tokens)
    return CountRange.of(_fewest(_MARKER.sub("", shown), unspaced), usual, _most(text, unspaced))


def _fewest(text: str, unspaced: bool) -> int:
    """Without numbers and signs; as few as the characters of a script without blanks can make up."""
    if not unspaced:
        return sum(1 for token in text.split() if _LETTER.search(token))
    return sum(_runs(token) if _UNSPACED.search(token) else bool(_LETTER.search(token)) for token in text.split())


def _runs(token: str) -> int:
    runs = [run.group() for run in _RUN.finditer(token)]
    native = sum(len(run) for run in runs if not _KATAKANA.match(run))
    return max(len(runs), native // _LONGEST)


def _most(text: str, unspaced: bool) -> int:
    """With all that blanks or hyphens set apart; every visible character in scripts without blanks."""
    number = 0
    for line in text.split("\n"):
        if FENCE_LINE.fullmatch(line):
            continue
        number += len(_JOINT.findall(line)) if not unspaced else 0
        said = False
        for token in line.split():
            if unspaced and _UNSPACED.search(token):
                number += _visible(token)
            elif not _DRAWN.fullmatch(token):
                number += 1 + (len(_JOINT.findall(token)) if unspaced else 0)
            elif said and "|" not in line:
                number += 1  # a dash between words, or "2 + 2 = 4"
            said = said or not _DRAWN.fullmatch(token)
    return number


def _visible(token: str) -> int:
    return len(graphemes(token))
