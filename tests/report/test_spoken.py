"""Texts say which language they are in, where it is known."""

from __future__ import annotations

import pytest

from truebench_hf.report.page import spoken


@pytest.mark.parametrize(
    ("language", "lang"),
    [("JA", "ja"), ("zh-TW", "zh-tw"), ("Korean", ""), ("", ""), ('"><script>', "")],
)
def test_language(language: str, lang: str) -> None:
    assert spoken(language) == (f' lang="{lang}"' if lang else "")
