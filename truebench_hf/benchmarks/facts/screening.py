"""Flag requests that a grounding set should not hold: creative, mathematical or expert ones (paper 002, sections 2.1, 2.2)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from pathlib import Path

CREATIVITY, MATHEMATICS, EXPERTISE = FLAGS = ("creativity", "mathematics", "expertise")


def screen(request: str) -> tuple[str, ...]:
    """Return the reasons a human should look at `request` before it enters a grounding set; () when none is found.

    Takes the user request alone, without its document, in English, German or Korean; any other language passes
    unseen. Returns the flags among `FLAGS` in that order. This is a filter for a human to look at, not a verdict: it
    is conservative, so a flag means that a known wording occurs, and an empty answer does not mean that the request
    needs no creativity, mathematics or expertise.
    """
    text = " ".join(unicodedata.normalize("NFKC", request).replace("’", "'").split())
    return tuple(flag for flag in FLAGS if _patterns()[flag].search(text))


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    import yaml

    written = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    patterns = {flag: "|".join(f"(?:{part})" for part in written[flag]) for flag in FLAGS}
    for name, group in written["groups"].items():
        patterns = {flag: pattern.replace(f"{{{name}}}", group) for flag, pattern in patterns.items()}
    return {flag: re.compile(pattern, re.IGNORECASE) for flag, pattern in patterns.items()}
