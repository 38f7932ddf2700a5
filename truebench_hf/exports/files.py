"""The files of an export: whole or absent, in folders that are made as need be."""

from __future__ import annotations

from pathlib import Path

from truebench_hf.errors import write_error
from truebench_hf.text.redaction import known
from truebench_hf.text.whole_files import write_whole


def put(path: Path, text: str) -> None:
    """Write a file without secrets. Half a character, which no file holds, is a question mark. Raises UserError where it cannot be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, [known(text)], errors="replace", newline="")
    except OSError as error:
        raise write_error(str(path), error) from error
