"""Faults in rows of data: every row is held against every check, and every offender is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

T = TypeVar("T")


def faults(rows: Mapping[str, T], *checks: Callable[[T], None]) -> list[str]:
    """One line for each check that a row fails: the row's name, the check, and what it said.

    A check asserts; one that stumbles over the row (a missing column, say) has found a fault as well.
    """
    found = []
    for name, row in rows.items():
        for check in checks:
            try:
                check(row)
            except Exception as error:
                said = " ".join(str(error).split())[:300]
                found.append(f"{name}: {check.__name__.replace('_', ' ')}: {said or type(error).__name__}")
    return found


def listed(found: list[str]) -> str:
    """The faults as the message of a failed test."""
    return "\n".join([f"{len(found)} faults", *found])
