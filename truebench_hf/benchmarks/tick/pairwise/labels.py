"""Every way in which data say which of two responses is preferred, and by whom that was said in which order."""

from __future__ import annotations

from dataclasses import dataclass

from truebench_hf.data.rows import Record
from truebench_hf.metrics.binary import PREFERENCES
from truebench_hf.metrics.preference import joined, preference_from_ratings

# Numbers are those of LLMBar's outputs, never ratings, which stand in a column of their own.
_LABELS = PREFERENCES | dict.fromkeys(("1", "1.0"), "win") | dict.fromkeys(("2", "2.0"), "loss")


@dataclass(frozen=True, slots=True)
class Decided:
    """What a judge makes of a pair: `label` of response A ("win", "tie", "loss"), None where `reason` says why not.

    Asked to compare, it said `as_given` with A shown first and `swapped` with B shown first, both about A; `asked` is
    the number of these orders, 0 where it rated each response by itself: then `scores` are those of A and B.
    """

    label: str | None
    reason: str = ""
    as_given: str | None = None
    swapped: str | None = None
    asked: int = 0
    scores: tuple[float | None, float | None] | None = None

    @property
    def orders(self) -> tuple[str | None, ...]:
        """What was said in each order; the label itself where nothing was compared."""
        return (self.as_given, self.swapped)[: self.asked] if self.asked else (self.label,)


def compared(as_given: str | None, swapped: str | None, reason: str = "") -> Decided:
    """What comes of a comparison in both orders."""
    return Decided(joined((as_given, swapped)), reason, as_given, swapped, 2)


def word(value: object) -> str | None:
    """The label that a text or a number stands for; None for any other."""
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return _LABELS.get(str(value).strip().casefold()) if plain else None


def label(record: Record, name: str) -> str | None:
    """The label in a field; None where it is absent, null or blank. Raises UserError on any other value."""
    value = record.row.get(name)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    found = word(value)
    if found is None:
        raise record.wrong(name, f"must name the better response (A or B, 1 or 2) or tie, not {value!r:.60}")
    return found


def rated(record: Record, name: str) -> str | None:
    """The label of ratings from 1 (A much better) to 5 (B much better): one, or those of several annotators.

    None without any. Raises UserError on what is no such rating.
    """
    value = record.decoded(name) if isinstance(record.row.get(name), str) else record.row.get(name)
    values = value if isinstance(value, list) else [value]
    numbers = all(one is None or (isinstance(one, int | float) and not isinstance(one, bool)) for one in values)
    if not numbers or not all(one is None or 1 <= one <= 5 for one in values):
        raise record.wrong(name, f"must hold ratings from 1 (A much better) to 5 (B much better), not {value!r:.60}")
    return preference_from_ratings(values)
