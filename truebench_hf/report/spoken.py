"""The language of a text that a page shows: Chinese, Japanese and Korean share signs that each writes in its own way."""

from __future__ import annotations

import re

from markupsafe import Markup

_LOOKED = 2000  # characters
_HANGUL, _KANA, _HAN = (
    re.compile("[\u1100-\u11ff\uac00-\ud7a3]+"),
    re.compile("[\u3041-\u30ff]+"),
    re.compile("[\u3400-\u9fff]+"),
)
_THEIRS = re.compile(f"{_HANGUL.pattern}|{_KANA.pattern}|{_HAN.pattern}")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f\u0400-\u04ff]+")
_LETTERS = 3  # letters that say as much as one sign of theirs, about
_TAG = re.compile(r"[a-z]{2,3}(-[a-z0-9]{2,8})*")
_NOTHING = Markup()


def spoken(text: str, language: str = "") -> Markup:
    """` lang="ja"` for the element of a text, by its script, or else by the `language` of what it belongs to; nothing where
    that is not known. Han without kana is Japanese where its language says so."""
    given = language.lower() if _TAG.fullmatch(language.lower()) else ""
    start = str(text)[:_LOOKED]
    found = given
    hangul = kana = han = latin = 0
    if _THEIRS.search(start):
        hangul, kana, han, latin = (len("".join(sort.findall(start))) for sort in (_HANGUL, _KANA, _HAN, _LATIN))
    if _LETTERS * (hangul + kana + han) > latin:
        found = (
            "ko" if hangul > kana + han else "ja" if 8 * kana > han else given if given[:2] in ("ja", "zh") else "zh"
        )
    return Markup(f' lang="{found}"') if found else _NOTHING
