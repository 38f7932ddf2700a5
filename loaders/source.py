"""What a source holds, as far as a builder has to know it before and beside its rows."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from truebench_hf.data.rows import HALF


def contents(source: str | None) -> str:
    """What changes with the contents of a source; of one that is far away they are not known before it is fetched."""
    if source is None:
        return ""
    path = Path(source)
    if not path.exists():
        return str(time.time_ns())
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    return "\n".join(f"{file} {sha256(file)}" for file in files)


def place(given: str | os.PathLike[str]) -> str:
    """A source as a text, the home folder written out."""
    text = os.fspath(given)
    return str(Path(text).expanduser()) if text.startswith("~") else text


def places(given: Any) -> Any:
    """What `data_files` names, one, several or by split, as texts, which is all that `datasets` takes."""
    if isinstance(given, Mapping):
        return {name: places(inner) for name, inner in given.items()}
    return [place(one) for one in given] if isinstance(given, list | tuple) else place(given)


def sha256(path: Path) -> str:
    """SHA-256 of a file, read a little at a time."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def whole(value: Any) -> Any:
    """The value with U+FFFD in place of half a character (a lone surrogate), which no table holds."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if HALF.search(value) else value
    if isinstance(value, Mapping):
        return {name: whole(inner) for name, inner in value.items()}
    return [whole(inner) for inner in value] if isinstance(value, list | tuple) else value
