"""Whether the items of a list stand in order, whichever way their texts may be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import regex

from truebench_hf.judging.rules.measuring.answers import Answer
from truebench_hf.judging.rules.measuring.lines import items, lines, number_of_lists, top_level
from truebench_hf.judging.rules.measuring.outcomes import agreed
from truebench_hf.judging.rules.measuring.plain_text import plain
from truebench_hf.normal_form import normal_form
from truebench_hf.rules import Sorted

_NUMBER = regex.compile(r"[-−]?\d+(?:[.,]\d+)*")
_ARTICLE = regex.compile(r"(?:the|an?|der|die|das|le|la|les|l['’]|el|los|las|il|lo|gli|i|o|os|as)\s+", regex.IGNORECASE)
_PLAIN = regex.compile(r"[a-z0-9а-я가-힣]")  # of others each language has an order of its own
_UNKNOWN = regex.compile(r"[\p{Han}]")  # by sound, by strokes, by radicals


def sorted_(rule: Sorted, answer: Answer) -> tuple[str, bool | None]:
    """(how many items were compared, whether they are in order)."""
    outcomes: list[bool | None] = []
    number = 0
    for text in answer.readings:
        texts = [item.text for item in top_level(items(text))] or [plain(line) for line in lines(text)]
        texts = [one for one in texts if one.strip()]
        number = number or len(texts)
        ordered = _ordered(texts, rule) if len(texts) > 1 else None
        outcomes.append(None if ordered is False and number_of_lists(text) > 1 else ordered)  # each for itself
    met = agreed(outcomes)
    said = "whose order is not clear" if met is None else "in order" if met else "not in order"
    return f"{number} items {said}", met


def _ordered(texts: Sequence[str], rule: Sorted) -> bool | None:
    if rule.by == "numeric":
        return agreed(_numeric(texts, rule.reverse, place) for place in (0, -1))
    if any(_UNKNOWN.match(regex.sub(r"[^\p{L}\p{N}]+", "", one)) for one in texts):
        return None
    met = agreed(_rising([key(one) for one in texts], rule.reverse) for key in _KEYS)
    if met is False and (_rising(list(texts), rule.reverse) or _may_rise(texts, rule.reverse)):  # capital letters first
        return None
    if (
        any(regex.search(r"\d", one) for one in texts)
        and met
        and not _rising([_natural(one) for one in texts], rule.reverse)
    ):
        return None  # is 10 before 2?
    return met


def _numeric(texts: Sequence[str], reverse: bool, place: int) -> bool | None:
    found = [_NUMBER.findall(one) for one in texts]
    if not all(found):
        return None
    values = [numbers[place] for numbers in found]
    if any(regex.search(r"[.,]", value) for value in values):  # 1.234 is one thing here and another there
        english, german = ([_value(value, sign) for value in values] for sign in ",.")
        return agreed(None if None in one else _rising(one, reverse) for one in (english, german))
    return _rising([_value(value, ",") for value in values], reverse)


def _value(text: str, thousands: str) -> float | None:
    try:
        return float(text.replace("−", "-").replace(thousands, "").replace(",", "."))
    except ValueError:
        return None


def _rising(keys: Sequence[Any], reverse: bool) -> bool:
    return all(left >= right if reverse else left <= right for left, right in pairwise(keys))


def _may_rise(texts: Sequence[str], reverse: bool) -> bool:
    """Whether texts are in order by their last words (surnames), or where letters with marks may stand anywhere."""
    names = [regex.findall(r"[\p{L}\p{N}]+", one)[-1:] for one in texts if len(one.split()) < 5]
    if len(names) == len(texts) and _rising([[word.casefold() for word in name] for name in names], reverse):
        return True
    keys = [_letters(text) for text in texts]
    return all(_may_follow(*((right, left) if reverse else (left, right))) for left, right in pairwise(keys))


def _may_follow(left: str, right: str) -> bool:
    for one, other in zip(left, right, strict=False):
        if one != other:
            return bool(one < other or not (_PLAIN.match(one) and _PLAIN.match(other)))
    return len(left) <= len(right)


def _natural(text: str) -> list[tuple[int, int, str]]:
    """A key in which numbers count by their value."""
    parts = regex.findall(r"\d+|[^\d]+", _letters(text))
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in parts]


def _letters(text: str) -> str:
    return str(regex.sub(r"[^\p{L}\p{N}]+", "", text)).casefold()


_KEYS: tuple[Callable[[str], str], ...] = (
    lambda text: text.casefold(),
    _letters,
    lambda text: regex.sub(r"\p{M}+", "", normal_form("NFKD", _letters(text))),
    lambda text: _letters(_ARTICLE.sub("", text)),
)
