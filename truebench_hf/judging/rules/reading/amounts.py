"""Numbers and bounds in English: "three", "1,200", "no more than 50", "between 70-80", "100 characters or fewer"."""

from __future__ import annotations

import re
from dataclasses import dataclass

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
    "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SMALL = {word: value for value, word in enumerate(_ONES)} | {
    word: 10 * (2 + place) for place, word in enumerate(_TENS)
}
_WORD = (
    rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_ONES[1:10])}))?|{'|'.join(sorted(_ONES, key=len, reverse=True))})"
)
NUMBER = rf"(?:\d{{1,3}}(?:,\d{{3}})+|\d{{1,6}}|(?:(?:a|{_WORD}) (?:hundred|thousand)(?:(?: and)? {_WORD})?)|{_WORD}|a single|single)(?![\d%.,]*\d)"

_AT_MOST = (
    r"(?:less|fewer) than or equal to|at (?:the )?(?:most|maximum)|no more than|not more than|no longer than|not longer than|not exceeding|not to exceed|up to|"
    r"(?:a |the )?max(?:imum)?(?: of|\.|:)?|within|no greater than|not over|not above"
)
_BELOW = r"(?:strictly )?(?:under|below|less than|fewer than|shorter than|lower than|smaller than)"
_AT_LEAST = r"(?:more|greater) than or equal to|at (?:the )?(?:least|minimum)|no (?:fewer|less) than|not (?:fewer|less) than|no shorter than|not shorter than|(?:a )?min(?:imum)?(?: of|\.|:)?"
_ABOVE = r"(?:strictly )?(?:more than|over|above|longer than|exceeding|greater than)"
_EXACTLY = r"exactly|precisely|a total of|exactly a total of"
_BEHIND_MOST = r"or (?:fewer|less|shorter|under|below)|at (?:the )?most|max(?:imum)?|or lower"
_BEHIND_LEAST = r"or (?:more|longer|over|above|greater)|at (?:the )?least|min(?:imum)?"
AMOUNT = (
    rf"(?:(?P<range>(?:(?P<between>between )|(?:from|within|in the range of|of) )?(?P<low>{NUMBER})(?P<link>(?(between) ?(?:-|to|and) ?| ?(?:-|to|or) ?))(?P<high>{NUMBER}))"
    rf"|(?:(?P<most>{_AT_MOST})|(?P<below>{_BELOW})|(?P<least>{_AT_LEAST})|(?P<above>{_ABOVE})|(?P<exact>{_EXACTLY}))? ?(?P<number>{NUMBER}))"
)
BEHIND = rf"(?:(?P<behind_most>{_BEHIND_MOST})|(?P<behind_least>{_BEHIND_LEAST}))"


@dataclass(frozen=True, slots=True)
class Amount:
    """From `low` to `high`, None for an open end. `plain`: a bare number, without a word that says how it binds."""

    low: int | None
    high: int | None
    plain: bool = False

    def within(self, other: Amount) -> Amount | None:
        """Both at once, where one is a lower bound and the other an upper one."""
        if self.low is None and other.high is None and (self.high or 0) >= (other.low or 0):
            return Amount(other.low, self.high)
        if self.high is None and other.low is None and (self.low or 0) <= (other.high or 0):
            return Amount(self.low, other.high)
        return None


def number(text: str) -> int:
    """The value of what `NUMBER` matched."""
    if text in ("single", "a single"):
        return 1
    if (digits := text.replace(",", "")).isdigit():
        return int(digits)
    total, group = 0, 0
    for word in re.split(r"[- ]", text):
        if word == "hundred":
            group = max(group, 1) * 100
        elif word == "thousand":
            total, group = total + max(group, 1) * 1000, 0
        else:
            group += 1 if word == "a" else _SMALL.get(word, 0)
    return total + group


def amount(match: re.Match[str]) -> Amount | None:
    """What a match of `AMOUNT` (and `BEHIND`) says; None where its words contradict each other."""
    groups = match.groupdict()
    if groups["range"] is not None:
        low, high = number(groups["low"]), number(groups["high"])
        if groups["low"] in _TENS and 0 < high < 10 and groups["link"] == "-":  # "fifty-six" is one number
            return None if _behind(groups) or groups["between"] else Amount(low + high, low + high, plain=True)
        near = "or" not in (groups["link"] or "") or high == low + 1  # "two or three", but not "five or ten"
        return Amount(low, high) if low < high and near and not _behind(groups) else None
    value = number(groups["number"])
    before = next((name for name in ("most", "below", "least", "above", "exact") if groups[name] is not None), "")
    if _behind(groups):
        if before:
            return None
        return Amount(None, value) if groups["behind_most"] else Amount(value, None)
    return {
        "most": Amount(None, value), "below": Amount(None, value - 1) if value else None, "least": Amount(value, None),
        "above": Amount(value + 1, None), "exact": Amount(value, value), "": Amount(value, value, plain=True),
    }[before]  # fmt: skip


def _behind(groups: dict[str, str | None]) -> bool:
    return bool(groups.get("behind_most") or groups.get("behind_least"))
