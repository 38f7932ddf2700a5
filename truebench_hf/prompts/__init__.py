"""One Jinja file per prompt, and the loader that lets a user replace any of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from truebench_hf.errors import UserError, unknown

_FOLDER = Path(__file__).parent


class Prompts:
    """The prompts of one run: ours, with the user's files in place of some (`{name: path}`)."""

    def __init__(self, replaced: Mapping[str, str] | None = None) -> None:
        self._replaced = dict(replaced or {})
        # Values are inserted once and never read as templates, so a reply that holds a placeholder stays text.
        self._environment = Environment(
            undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
        )
        self._templates: dict[str, Template] = {}
        for name, path in self._replaced.items():
            if name not in names():
                raise unknown("prompt", name, names())
            if not Path(path).is_file():
                raise UserError(f"--prompt {name}={path}: no such file")
            try:  # now, not when the first judge prompt is due
                self._templates[name] = self._environment.from_string(self.source(name))
            except Exception as error:  # not of one kind: bad syntax, bad bytes, nesting too deep for Python
                raise UserError(f"--prompt {name}={path}: {_said(error)}") from error

    def source(self, name: str) -> str:
        """The template text of a prompt."""
        return Path(self._replaced.get(name, _FOLDER / f"{name}.jinja")).read_text(encoding="utf-8")

    def hash(self, name: str) -> str:
        """SHA-256 of a prompt's template text, in hex."""
        return hashlib.sha256(self.source(name).encode()).hexdigest()

    def render(self, name: str, **values: Any) -> str:
        """The prompt with its values. Raises UserError when a replaced template is broken or asks for other values."""
        try:
            if name not in self._templates:
                self._templates[name] = self._environment.from_string(self.source(name))
            return self._templates[name].render(**values).strip()
        except Exception as error:  # a template can raise anything: 1/0, an endless macro
            path = self._replaced.get(name)
            if path is None:
                raise
            offer = ", ".join(sorted(values))
            raise UserError(f"--prompt {name}={path}: {_said(error)}; values on offer: {offer}") from error


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def names() -> list[str]:
    """The names of all prompts."""
    return sorted(path.stem for path in _FOLDER.glob("*.jinja"))


def fence(*texts: str, beside: Sequence[str] = ()) -> str:
    """A tag suffix derived from the texts that none of them contains: text inside cannot close its own section.

    Nor does any text `beside` contain it. Those do not shape the suffix, so that prompts which differ only in them
    (the criteria of one response) begin alike and prefix caches can serve them.
    """
    whole = "\0".join(texts)
    suffix = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    while suffix in whole or any(suffix in text for text in beside):
        suffix = hashlib.sha256(suffix.encode()).hexdigest()[:8]
    return suffix
