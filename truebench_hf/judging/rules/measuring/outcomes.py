"""Outcomes in three values: met, not met, and open (None), where reasonable readings differ."""

from __future__ import annotations

from collections.abc import Iterable


def all_of(outcomes: Iterable[bool | None]) -> bool | None:
    """Whether all hold: one that does not settles it, one that is open leaves it open."""
    found = list(outcomes)
    return False if False in found else None if None in found else True


def any_of(outcomes: Iterable[bool | None]) -> bool | None:
    """Whether one holds; none is settled only where all are."""
    found = list(outcomes)
    return True if True in found else None if None in found else False


def agreed(outcomes: Iterable[bool | None]) -> bool | None:
    """What all readings say; None where they differ or one is open."""
    found = set(outcomes)
    return found.pop() if len(found) == 1 else None
