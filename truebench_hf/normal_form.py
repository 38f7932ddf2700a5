"""Normal forms of Unicode, in a time that grows with the text."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

# Python sorts the marks on a letter in a time that grows with the square of their number: 100,000 take 30 seconds.
_MARKS = re.compile(r"[^\w\s\x00-\x7f]{500}")


def normal_form(form: Literal["NFC", "NFD", "NFKC", "NFKD"], text: str) -> str:
    """The text in that form. What has 500 signs without a letter in a row is taken in parts, each by itself."""
    parts, at = [], 0
    for match in _MARKS.finditer(text):
        parts.append(text[at : match.end()])
        at = match.end()
    return "".join(unicodedata.normalize(form, part) for part in (*parts, text[at:]))
