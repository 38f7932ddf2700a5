"""What a program can prove of a text: rules that stand as YAML beside a test, each by its kind."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from lingua import Language, LanguageDetectorBuilder

_ABBREVIATED = re.compile(
    r"\b(Dr|Ms|Mr|Sra|approx|z|B|np|tj|godz|т|е|руб|\d+(?=\. (?:Mai|Juni|Juli|August|bis|und)))\."
)
_LANGUAGES = "ENGLISH KOREAN JAPANESE CHINESE POLISH GERMAN PORTUGUESE SPANISH FRENCH ITALIAN RUSSIAN VIETNAMESE"


def lines(text: str) -> list[str]:
    """The lines that are not blank."""
    return [line for line in text.splitlines() if line.strip()]


def bullets(text: str) -> list[str]:
    """The items of a list with hyphens."""
    return re.findall(r"^- (.*)$", text, re.MULTILINE)


def sentences(text: str) -> int:
    """Ends of sentences; the points of abbreviations, ordinals (7. August) and numbers (200.000) end none."""
    plain = _ABBREVIATED.sub(r"\1", text)
    return len(re.findall(r"[.!?](?=\s|$)|[。！？]", plain))


@functools.cache
def _detector() -> Any:
    return (
        LanguageDetectorBuilder.from_languages(*(getattr(Language, name) for name in _LANGUAGES.split()))
        .with_low_accuracy_mode()
        .build()
    )


def language(text: str) -> str:
    """The ISO code in capitals; "" where it cannot be told."""
    detected = _detector().detect_language_of(text)
    return detected.iso_code_639_1.name if detected else ""


def json_of(text: str) -> Any:
    """The JSON value that a text is; None where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _stand_in_order(text: str, words: list[str]) -> bool:
    places = [text.find(word) for word in words]
    return -1 not in places and places == sorted(set(places))


def _rise(text: str, pattern: str, step: int = 1) -> bool:
    values = [int(number) for number in re.findall(pattern, text, re.MULTILINE)][::step]
    return len(values) > 1 and all(a < b for a, b in itertools.pairwise(values))


COUNTS: dict[str, Callable[[str], int]] = {
    "lines": lambda text: len(lines(text)), "words": lambda text: len(text.split()), "signs": len, "sentences": sentences,
    "bullets": lambda text: len(bullets(text)), "paragraphs": lambda text: len(text.split("\n\n")),
    "numbered": lambda text: len(re.findall(r"^\d+\. ", text, re.MULTILINE)), "digits": lambda text: sum(map(str.isdigit, text)),
    "plain words": lambda text: len(re.findall(r"\w+", text)),
}  # fmt: skip
KINDS: dict[str, Callable[[str, Any], bool]] = {
    "has": lambda text, patterns: all(re.search(pattern, text, re.I | re.M) for pattern in patterns),
    "lacks": lambda text, patterns: not any(re.search(pattern, text, re.I | re.M) for pattern in patterns),
    "holds": lambda text, words: all(word in text for word in words),
    "each": lambda text, pattern: all(re.match(pattern, line) for line in lines(text)),
    "finds": lambda text, found: [word.lower() for word in re.findall(found[0], text)] == found[1:],
    "order": _stand_in_order,
    "rises": _rise,
    "falls": lambda text, pattern: _rise(text, pattern, -1),
    "sorted": lambda text, pattern: (found := re.findall(pattern, text.lower(), re.M)) == sorted(found),
    "json": lambda text, kind: isinstance(json_of(text), {"object": dict, "any": object}[kind]) and json_of(text) is not None,
    "language": lambda text, code: language(text) == code,
    "repeats at most": lambda text, most: all(text.count(sign) <= times for sign, times in most.items()),
}  # fmt: skip


def holds(rules: Mapping[str, Any], text: str) -> bool:
    """Whether a text is as all rules say: counts as N or N-M, other kinds as above; `of` is the part that is meant."""
    if part := re.search(rules.get("of", r"(?s:(.*))"), text):
        text = part[1]
    for kind, value in rules.items():
        least, _, most = str(value).partition("-")
        if kind in COUNTS and not int(least) <= COUNTS[kind](text) <= int(most or least):
            return False
        if kind in KINDS and not KINDS[kind](text, value):
            return False
    assert set(rules) <= {*COUNTS, *KINDS, "of"}, rules
    return True
