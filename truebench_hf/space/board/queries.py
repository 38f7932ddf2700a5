"""What an address asks of a page: which board, run, filter. It may come from anybody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self
from urllib.parse import urlencode

_LONGEST = 600  # characters of a value: keys hold a model's name
_NUMBER = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class _Query:
    """Texts by their names in the address; "" is the first, or no limit."""

    @classmethod
    def of(cls, query: Any) -> Self:
        """Return the query of a mapping of texts; whatever has another form asks for nothing."""
        known = query if isinstance(query, Mapping) else {}
        return cls(**{field.name: short_text(known.get(field.name)) for field in fields(cls)})


@dataclass(frozen=True, slots=True)
class BoardQuery(_Query):
    """A board, a group of results on it, a choice of columns, and a model that is opened."""

    board: str = ""
    group: str = ""
    view: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class JudgesQuery(_Query):
    """Results of judges that may be compared, and the judge that is shown by type of rubric."""

    set: str = ""
    judge: str = ""


@dataclass(frozen=True, slots=True)
class ExplorerQuery(_Query):
    """A run, a conversation of it, a run beside it, a filter, a page of the list and how answers are shown.

    `near` is the conversation that was shown before. `part` is the page of the list: `page` is read by Gradio.
    """

    run: str = ""
    id: str = ""
    beside: str = ""
    language: str = ""
    category: str = ""
    outcome: str = ""
    failed: str = ""
    part: str = ""
    show: str = ""
    near: str = ""

    @property
    def page(self) -> int:
        """The page of the list; 0 is that of the conversation."""
        return int(self.part) if _NUMBER.fullmatch(self.part) else 0

    @property
    def filters(self) -> tuple[str, str, str, str]:
        """What limits the list: language, category, outcome, and a text in a criterion that was not met."""
        return self.language, self.category, self.outcome, self.failed[:200].strip()


def short_text(value: Any) -> str:
    """Return a text that any page can carry; "" for a longer one, and for other values."""
    known = isinstance(value, str) and len(value) <= _LONGEST
    return value.encode("utf-8", "replace").decode() if known else ""  # half a character is no text


def address(tab: str, **values: str | int) -> str:
    """Return the address of a page, with the values that are not empty."""
    return "?" + urlencode({name: value for name, value in {"tab": tab, **values}.items() if value})
