"""The language of an answer, told by lingua over the letters that are prose: without code, addresses and quotations.

It is decided only where all of it speaks for a language, or none of it. Lingua reads by its trigrams only (80 MB of memory
instead of 1 GB), which needs no more than a sentence; shorter ones are read together with those behind them.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

import regex

from truebench_hf.data.rules import Language
from truebench_hf.judging.rules.counting import Answer, plain, table

# Letters that show a language; a character of Chinese, Japanese, Korean counts as three. Of 200 sentences of this length
# in 12 languages none is taken for another. So many pieces are read at most, from all of a response.
_ENOUGH, _HINTING, _SURE, _MOST = 45, 12, 0.95, 60
_ENGLISH = r"(?i)\b(?:sure|here is|here are|here['’]s|let me know|hope|feel free)\b"  # what English speakers frame with
_BETWEEN = r"(?<=[.!?…。？！؟।][\"'”’»)]*)\s+"
_NOISE = (
    r"(?ms)^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)|`[^`\n]*`|https?://\S+|www\.\S+|(?<!\S)[^\s@]{1,100}@[^\s@]+"
    r"|</?[A-Za-z][^<>\n]{0,200}>|[@#][\p{L}\p{N}_]+|\$\$?[^$\n]{1,200}\$\$?|\\[A-Za-z]+|(?<![\p{L}_])[\p{L}_]*[_/\\]\S*"
)
_QUOTED = r"“[^“”\n]{1,400}”|„[^„“”\n]{1,400}[“”]|«[^«»\n]{1,400}»|\"[^\"\n]{1,400}\"|「[^「」\n]{1,400}」|『[^『』\n]{1,400}』"


def language(rule: Language, answer: Answer) -> tuple[str, bool | None]:
    """Return (languages with their shares of the letters, whether all of it is in one of those asked for)."""
    prose = plain(regex.sub(_NOISE, " ", answer.full_text))
    unquoted = regex.sub(_QUOTED, " ", prose)
    prose = unquoted if 2 * len(unquoted) > len(prose) else prose
    letters, wanted = Counter[str](), set(rule.codes)
    for piece in _pieces(prose):
        letters[_detected(piece, _ENOUGH)] += _size(piece)
    total, mine, unread = sum(letters.values()), sum(letters[code] for code in wanted), letters[""]
    common = [(code, number) for code, number in letters.most_common(4) if 100 * number >= total]
    shares = [f"{language_name(code)} {number / total:.0%}" for code, number in common]
    facts = f"{', '.join(shares)} of the letters" if unread < total else "too few letters to tell the language"
    lines = [line for line in prose.split("\n") if regex.search(r"\p{L}", line)]
    edges = [regex.split(_BETWEEN, line)[end] for end, line in ((0, lines[0]), (-1, lines[-1]))] if lines else []
    hints = {"en" if regex.search(_ENGLISH, edge) else _detected(edge, _HINTING) for edge in edges}
    others = {*letters, *hints} - wanted - {""}
    near = {code for group in table("related") if wanted & set(group.split()) for code in group.split()}
    tried = not near or wanted <= set(table("tried").split()) or total >= 3 * _ENOUGH
    if not others and mine >= 0.6 * total > 0 and tried:
        return facts, True if {_script(edge) for edge in edges} <= {_script(prose), ""} else None
    clear = (
        others and others <= set(table("frequent").split()) - near and mine <= 0.03 * total and unread <= 0.45 * total
    )
    return facts, False if clear and not hints & wanted and any(letters[code] for code in others) else None


def language_code(text: str) -> str:
    """Return the ISO 639-1 code of the language of a text; "" where it is too short or too mixed to tell."""
    return _detected(text, _ENOUGH)


def unload() -> None:
    """Give back the memory of the detector's models, for what comes after the answers; they are loaded again when needed."""
    if _detector.cache_info().currsize:
        _detector().unload_language_models()
        with suppress(AttributeError, OSError, TypeError):  # glibc keeps what was freed for itself until it is told
            ctypes.CDLL(None).malloc_trim(0)


@cache
def language_name(code: str) -> str:
    """Return the English name of a language by its ISO 639-1 code, in capitals or not."""
    from lingua import Language as Known

    names = (known.name.title() for known in Known.all() if known.iso_code_639_1.name.lower() == code.lower())
    return next(names, code or "too short to tell")


def _pieces(prose: str) -> list[str]:
    """Return the sentences, each with those behind it until it is long enough to tell a language; short lines in one."""
    pieces, short = list[str](), dict[str, str]()
    for line in prose.split("\n"):
        sentences = list[str]()
        for sentence in regex.split(_BETWEEN, line):
            joins = sentences and min(_size(sentences[-1]), _size(sentence)) < _ENOUGH
            sentences = [*sentences[:-1], f"{sentences[-1]} {sentence}"] if joins else [*sentences, sentence]
        if len(sentences) == 1 and _size(line) < _ENOUGH:
            short[_script(line)] = f"{short.get(_script(line), '')} {line}"
        else:
            pieces += sentences
    return [piece for piece in (*pieces[:: 1 + len(pieces) // _MOST], *short.values()) if _size(piece)]


def _detected(text: str, least: int) -> str:
    """Return the language of a text, by its letters where one language alone uses them; "" where it is not sure."""
    script, letter = _script(text), table("scripts")
    if script == "han":
        chinese, kana = regex.search(f"[{table('chinese')}]", text), len(regex.findall(letter["kana"], text))
        if kana:  # names in kana stand in Chinese, and 的 in Japanese
            return "" if chinese and 12 * kana < _size(text) else "ja"
        return "zh" if chinese and _size(text) >= least else ""
    words = [word for word in text.split() if regex.search(letter.get(script, "."), word)]
    names = not text.isupper() and sum(word[0].isupper() for word in words) > 0.7 * len(words)  # they say little
    if script not in table("shared") or _size(text) < least or names:
        return script if script not in table("shared") else ""
    sample = " ".join(words)[:600].encode("utf-8", "replace").decode()  # half an emoji is no text to the detector
    first, second, *_ = _detector().compute_language_confidence_values(sample)
    sure = first.value >= _SURE and second.value <= 1 - _SURE
    return str(first.language.iso_code_639_1.name).lower() if sure else ""


@lru_cache(maxsize=256)
def _weights(text: str) -> Counter[str]:
    """Return the letters by script, kana with the characters of Chinese; one of Chinese, Japanese, Korean counts as three."""
    weights = Counter[str]()
    if regex.search(r"\p{L}", text):
        for name, letter in table("scripts").items():
            number = len(regex.findall(letter, text))
            weights["han" if name == "kana" else name] += 3 * number if name in ("ko", "kana", "han") else number
    return +weights


def _size(text: str) -> int:
    return sum(_weights(text).values())


def _script(text: str) -> str:
    """Return the script of most letters; "" where there are none, or several share them."""
    weights = _weights(text)
    script = max(weights, key=weights.__getitem__, default="")
    return script if weights[script] >= 0.6 * _size(text) else ""


@cache
def _detector() -> Any:
    from lingua import LanguageDetectorBuilder

    return LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()
