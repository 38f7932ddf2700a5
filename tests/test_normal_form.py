"""Normal forms: the same as Python's on what anybody writes, and soon done on what nobody does."""

from __future__ import annotations

import unicodedata

import pytest

from truebench_hf.normal_form import normal_form

MARKS = "\u0301\u0327"


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "nothing"),
        ("plain " * 400, "ASCII"),
        ("ﬁ ½ Å Ⅳ ｆｕｌｌ e\u0301 \U0001d400", "signs that another form spells otherwise"),
        ("가각힣" * 700 + "\u1100\u1161\u11a8" * 700, "Hangul, whole and in parts, longer than a part"),
        ("\u0e01\u0e33\u0e19\u0e49" * 700, "Thai marks"),
        ("z" + MARKS * 200, "many marks on one letter"),
        ("；。！" * 700, "signs of East Asia"),
        ("e\u0301" * 900, "a mark on each letter"),
    ],
)
def test_what_is_written_has_the_form_that_python_gives_it(form: str, text: str, reason: str) -> None:
    assert normal_form(form, text) == unicodedata.normalize(form, text), reason  # type: ignore[arg-type]


def test_too_many_marks_are_sorted_in_parts() -> None:
    # In one part all cedillas stand before all accents, and that takes Python four minutes.
    made = normal_form("NFD", "z" + MARKS * 300_000)
    assert sorted(made) == sorted("z" + MARKS * 300_000)
    assert made.count("\u0327\u0301") == 1200, "600,000 marks in parts of 500, each sorted"
