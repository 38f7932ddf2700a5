"""What an address asks of a page: which board, run, filter. It may come from anybody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_LONGEST = 600  # characters of one thing that is asked: keys hold a model's name
_NUMBER = re.compile(r"[0-9]{1,6}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A board, a group of it and a choice of columns; "" is the first."""

    board: str = ""
    group: str = ""
    view: str = ""

    @classmethod
    def of(cls, given: Any) -> Asked:
        """What is asked by a mapping of texts; whatever is of another form asks for nothing."""
        told = given if isinstance(given, Mapping) else {}
        board, group, view = (text(told.get(name)) for name in ("board", "group", "view"))
        return cls(board, group, view)


@dataclass(frozen=True, slots=True)
class AskedJudges:
    """Results of judges that may be compared, and the judge that is shown by type of rubric; "" is the first."""

    set: str = ""
    judge: str = ""

    @classmethod
    def of(cls, given: Any) -> AskedJudges:
        """What is asked by a mapping of texts; whatever is of another form asks for nothing."""
        told = given if isinstance(given, Mapping) else {}
        return cls(text(told.get("set")), text(told.get("judge")))


@dataclass(frozen=True, slots=True)
class AskedConversations:
    """A run, a conversation of it, a run beside it, a filter ("" sets no limit), a page of the list (0: that of the
    conversation), and whether answers are shown as Markdown. `near` is the conversation that was shown before.
    In the address the page of the list is `part`: `page` is read by Gradio."""

    run: str = ""
    id: str = ""
    beside: str = ""
    language: str = ""
    category: str = ""
    outcome: str = ""
    failed: str = ""
    page: int = 0
    markdown: bool = False
    near: str = ""

    @classmethod
    def of(cls, given: Any) -> AskedConversations:
        """What is asked by a mapping of texts; whatever is of another form asks for nothing."""
        told = given if isinstance(given, Mapping) else {}
        run, name, beside, language, category, outcome, failed, number, near = (
            text(told.get(one)) for one in ("run", "id", "with", "language", "category", "outcome", "failed", "part", "near")
        )  # fmt: skip
        page = int(number) if _NUMBER.fullmatch(number) else 0
        markdown = told.get("show") == "markdown"
        return cls(run, name, beside, language, category, outcome, failed, page, markdown, near)


def text(given: Any) -> str:
    """A short text that any page can carry, or nothing."""
    known = isinstance(given, str) and len(given) <= _LONGEST
    return given.encode("utf-8", "replace").decode() if known else ""  # half a character is no text
