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
        return cls(*_texts(given, "board", "group", "view"))


@dataclass(frozen=True, slots=True)
class AskedJudges:
    """Results of judges that may be compared, and the judge that is shown by type of rubric; "" is the first."""

    set: str = ""
    judge: str = ""

    @classmethod
    def of(cls, given: Any) -> AskedJudges:
        """What is asked by a mapping of texts; whatever is of another form asks for nothing."""
        return cls(*_texts(given, "set", "judge"))


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
        names = ("run", "id", "with", "language", "category", "outcome", "failed", "part", "show", "near")
        run, name, beside, language, category, outcome, failed, part, show, near = _texts(given, *names)
        page = int(part) if _NUMBER.fullmatch(part) else 0
        return cls(run, name, beside, language, category, outcome, failed, page, show == "markdown", near)

    @property
    def filters(self) -> tuple[str, str, str, str]:
        """What limits the list: language, category, outcome, and a text in a criterion that was not met."""
        return self.language, self.category, self.outcome, self.failed[:200].strip()


def text(given: Any) -> str:
    """A short text that any page can carry, or nothing."""
    known = isinstance(given, str) and len(given) <= _LONGEST
    return given.encode("utf-8", "replace").decode() if known else ""  # half a character is no text


def _texts(given: Any, *names: str) -> list[str]:
    """The texts of these names in a mapping; "" for what is of another form."""
    return [text(given.get(name)) if isinstance(given, Mapping) else "" for name in names]
