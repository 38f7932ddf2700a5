"""Files that are whole or absent, and are written in the place of a link, never through it."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_whole(
    target: Path,
    parts: Iterable[str],
    *,
    encoding: str = "utf-8",
    errors: str = "backslashreplace",
    newline: str | None = None,
) -> None:
    """Write a file from parts of its text, so that it is whole or absent whenever the process dies.

    A link of its name is replaced; what it leads to stays as it is. Half a character is written as its escape, which in
    a JSON text means the same. Raises OSError; nothing of the file is left then.
    """
    part = target.with_name(target.name + ".part")
    try:
        part.unlink(missing_ok=True)
        with part.open("x", encoding=encoding, errors=errors, newline=newline) as file:  # "x" follows no link
            for text in parts:
                file.write(text)
        part.replace(target)
    except BaseException:
        with suppress(OSError):
            part.unlink(missing_ok=True)  # what is left of it would take the room that is missing
        raise


def linked(folder: Path, name: str) -> Path | None:
    """The first part of a file's path below a folder that is a link."""
    here = folder
    for part in Path(name).parts:
        here /= part
        if here.is_symlink():
            return here
    return None
