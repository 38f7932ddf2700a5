"""What the pages share: what their address asks for, and the templates that draw them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from markupsafe import Markup

from truebench_hf.report.page import fragment, templates

_LONGEST = 600  # characters of a value: keys hold a model's name
_HERE = Path(__file__).parent
_TEMPLATES = templates(_HERE)


@dataclass(frozen=True, slots=True)
class Query:
    """What an address asks for, whoever wrote it: texts by their names there; "" is the first, or no limit.

    On the leaderboard `board`, `group` of results, `view` (a choice of columns) and an opened `model`; of judges a `set`
    of results and a `judge`; in the explorer a `run`, its conversation `id`, another run `beside`, filters, and how
    answers are shown (`show`). `near` is the conversation that was shown before. `part` is the page of the list: `page`
    is read by Gradio.
    """

    board: str = ""
    group: str = ""
    view: str = ""
    model: str = ""
    set: str = ""
    judge: str = ""
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

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Return the query of these values; what is no short text asks for nothing, and half a character is no text."""
        texts = {field.name: values.get(field.name) for field in fields(cls)}
        short = {name: text for name, text in texts.items() if isinstance(text, str) and len(text) <= _LONGEST}
        return cls(**{name: text.encode("utf-8", "replace").decode() for name, text in short.items()})

    @property
    def page(self) -> int:
        """The page of the list; 0 is that of the conversation."""
        return int(self.part) if self.part.isdecimal() else 0

    @property
    def filters(self) -> dict[str, str]:
        """What limits the list: language, category, outcome, and a text in a criterion that was not met."""
        failed = self.failed[:200].strip()
        return {"language": self.language, "category": self.category, "outcome": self.outcome, "failed": failed}


def address(tab: str, **values: str | int) -> str:
    """Return the address of a page, with the values that are not empty."""
    return "?" + urlencode({name: value for name, value in {"tab": tab, **values}.items() if value})


_GLOBALS = {"address": address, "fragment": lambda section: Markup(fragment(section))}


def filled(template: str, **values: Any) -> str:
    """Return a template, filled. What it prints is text, whatever it holds, or markup of ours."""
    return _TEMPLATES.get_template(f"{template}.html.jinja", globals=_GLOBALS).render(**values)


def macro(template: str, name: str, *values: Any) -> str:
    """Return one of a template's macros, filled."""
    return str(getattr(_TEMPLATES.get_template(f"{template}.html.jinja", globals=_GLOBALS).module, name)(*values))


def read(name: str) -> str:
    """Return a file of this folder."""
    return (_HERE / name).read_text("utf-8")
