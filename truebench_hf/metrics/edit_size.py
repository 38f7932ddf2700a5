"""How much of a text an edit changed."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import Any

# Words, runs of blanks, and single signs; scripts without blanks between words go sign by sign.
_PARTS = re.compile(r"[^\W\u0e00-\u0eff\u3040-\u9fff]+|\s+|.", re.DOTALL)


def edit_size(before: str, after: str) -> float:
    """0 (nothing) to 1 (everything): 1 minus difflib's ratio over words and signs."""
    parts: list[list[Any]] = [_PARTS.findall(text) for text in (before, after)]
    return 1 - SequenceMatcher(None, parts[0], parts[1], autojunk=False).ratio()
