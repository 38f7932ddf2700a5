"""A number that may be counted in several ways, and whether it keeps to bounds whichever is meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CountRange:
    """What most would count, and the fewest and the most that anybody reasonable would."""

    usual: int
    low: int
    high: int

    @classmethod
    def of(cls, low: int, usual: int, high: int) -> CountRange:
        """With the ends widened to what is usual, should it lie outside."""
        return cls(usual, min(low, usual), max(high, usual))

    def __str__(self) -> str:
        if self.low == self.high:
            return str(self.usual)
        between = f"{self.low} to {self.high}"
        return between if self.usual in (self.low, self.high) else f"{self.usual} ({between} in other readings)"

    def within(self, low: int | None, high: int | None) -> bool | None:
        """Whether it lies between these bounds (None: no bound); None where only some of the ways to count say so."""
        least, most = low or 0, float("inf") if high is None else high
        if least <= self.low and self.high <= most:
            return True
        return False if self.high < least or self.low > most else None


def hull(ranges: Iterable[CountRange]) -> CountRange:
    """One range that covers all; what is usual in the first is usual. There must be one at least."""
    found = list(ranges)
    return CountRange(found[0].usual, min(one.low for one in found), max(one.high for one in found))


def enumerated(parts: Sequence[object], most: int = 8) -> str:
    """The first of some values, and how many more there are."""
    first = ", ".join(map(str, parts[:most]))
    return first + (f" and {len(parts) - most} more" if len(parts) > most else "")
