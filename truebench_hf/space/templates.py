"""The Space's own templates. What they print is text, whatever it holds, but for numbers and markup of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from truebench_hf.report.page import inert
from truebench_hf.report.spoken import spoken
from truebench_hf.space.board.page import Bar


def filled(template: str, **values: Any) -> str:
    """A template by its file's name, filled."""
    return _TEMPLATES.get_template(template).render(**values)


def macro(template: str, name: str, *values: Any) -> str:
    """One of a template's macros, filled."""
    return str(getattr(_TEMPLATES.get_template(template).module, name)(*values))


def _said(value: Any) -> Any:
    return value if isinstance(value, int | float | Markup) else inert(value)


_TEMPLATES = Environment(
    loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined, finalize=_said, trim_blocks=True,
    lstrip_blocks=True,
)  # fmt: skip
_TEMPLATES.globals["spoken"] = spoken
_TEMPLATES.tests["bar"] = lambda cell: isinstance(cell, Bar)
