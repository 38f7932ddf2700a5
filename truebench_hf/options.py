"""Options declared once: a frozen dataclass per command is its Python signature and its command line."""

from __future__ import annotations

import dataclasses
from typing import Any

from truebench_hf.errors import UserError


def option(default: Any = dataclasses.MISSING, *, help: str) -> Any:
    """A field of an options class, with the text that `--help` shows."""
    if isinstance(default, list | tuple) and not default:
        return dataclasses.field(default_factory=tuple, metadata={"help": help})
    return dataclasses.field(default=default, metadata={"help": help})


def pairs(texts: tuple[str, ...], flag: str) -> dict[str, str]:
    """`k=v` texts as a dict. Raises UserError on one without `=`."""
    for text in texts:
        if "=" not in text:
            raise UserError(f"{flag} {text}: write it as name=value")
    return {key.strip(): value for key, _, value in (text.partition("=") for text in texts)}
