"""What an address asks of the leaderboard: which board, group, columns. It may come from anybody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LONGEST = 200  # characters of one thing that is asked


@dataclass(frozen=True, slots=True)
class Asked:
    """A board, a group of it, a choice of columns, and whether pass rates are adjusted for style; "" is the first."""

    board: str = ""
    group: str = ""
    view: str = ""
    adjusted: bool = False

    @classmethod
    def of(cls, given: Any) -> Asked:
        """What is asked by a mapping of texts; whatever is of another form asks for nothing."""
        told = given if isinstance(given, Mapping) else {}
        board, group, view = (text(told.get(name)) for name in ("board", "group", "view"))
        return cls(board, group, view, told.get("style") == "average")


def text(given: Any) -> str:
    """A short text, or nothing."""
    return given if isinstance(given, str) and len(given) <= _LONGEST else ""
