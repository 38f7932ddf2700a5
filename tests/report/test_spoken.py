"""A text's own script says how it is spoken before the language of what it belongs to does."""

from __future__ import annotations

import pytest

from truebench_hf.report.page import spoken

CASES = [
    ("번역하세요", "", "ko"),
    ("ひらがなと漢字", "", "ja"),
    ("请翻译成英文", "", "zh"),
    ("請翻譯", "zh-TW", "zh-tw"),  # what is known better stays
    ("東京大学", "JA", "ja"),  # a name without kana
    ("Translate into Chinese: 你好", "EN", "en"),  # mostly English
    ("翻译: GPT-4o", "EN", "zh"),  # an English task's answer in Chinese
    ("Hello", "KO", "ko"),  # nothing says otherwise
    ("Hello", "", ""),
    ("Привет", "RU", "ru"),
    ("大韓民國은 민주공화국이다", "", "ko"),  # Han within Korean
    ("", "Korean", ""),  # no tag of a language
    ("x", '"><script>', ""),
    ("\ud83c", "", ""),
    ("한" * 9 + "x" * 99_999, "", ""),  # only the start is looked at: mostly Latin
]


@pytest.mark.parametrize(("text", "language", "lang"), CASES)
def test_language(text: str, language: str, lang: str) -> None:
    assert spoken(text, language) == (f' lang="{lang}"' if lang else "")
