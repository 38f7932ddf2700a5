"""Options declared once: a frozen dataclass per command is its Python signature and its command line."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any, TypeVar

from truebench_hf.errors import UserError

T = TypeVar("T")


def option(default: Any = dataclasses.MISSING, *, help: str) -> Any:
    """A field of an options class, with the text that `--help` shows."""
    if isinstance(default, list | tuple) and not default:
        return dataclasses.field(default_factory=tuple, metadata={"help": help})
    return dataclasses.field(default=default, metadata={"help": help})


def from_values(options: type[T], values: Mapping[str, Any]) -> T:
    """An options object from Python values: paths are texts, lists any sequence or one text, `k=v` options dicts."""
    kinds = {field.name: str(field.type) for field in dataclasses.fields(options)}  # type: ignore[arg-type]
    return options(**{name: _plain(value, kinds.get(name, "")) for name, value in values.items()})


def _plain(value: Any, kind: str) -> Any:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if kind.startswith("tuple"):
        if isinstance(value, Mapping):
            return tuple(f"{key}={entry}" for key, entry in value.items())
        return (value,) if isinstance(value, str) else tuple(sorted(value) if isinstance(value, set) else value)
    # A band is written LOW,HIGH on the command line, and a pair in Python.
    return ",".join(map(str, value)) if kind.startswith("str") and isinstance(value, list | tuple) else value


def pairs(texts: tuple[str, ...], flag: str) -> dict[str, str]:
    """`k=v` texts as a dict. Raises UserError on one without `=`."""
    for text in texts:
        if "=" not in text:
            raise UserError(f"{flag} {text}: write it as name=value")
    return {key.strip(): value for key, _, value in (text.partition("=") for text in texts)}
