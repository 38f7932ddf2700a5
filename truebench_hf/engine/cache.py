"""The cache across folders: what a model was asked once, by any command, is not asked again.

It stands in `.truebench_cache/` of the working directory, in `--cache DIR`, or where TRUEBENCH_CACHE says (`off`: nowhere).
Rows are counted by the spec of the model. It holds answers and hashes of requests: no prompt, no key, no header.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from truebench_hf.engine.ledger import Ledger
from truebench_hf.errors import UserError, write_error
from truebench_hf.options import Options, option
from truebench_hf.text.terminal import warn

FOLDER, FILE = ".truebench_cache", "calls.sqlite"
_OFF = ("off", "none", "no", "false", "0")


@dataclass(frozen=True, kw_only=True)
class CacheOptions(Options):
    """Where answers are kept for other folders and later calls."""

    PANEL: ClassVar[str] = "Output"

    cache: str | None = option(
        None, help="Folder of the cache: what was answered once, in any folder, is not asked again. If not given: "
        "TRUEBENCH_CACHE, else .truebench_cache."
    )  # fmt: skip
    no_cache: bool = option(False, help="Ask everything anew, past the cache, and leave nothing there.")


def cache_folder(options: CacheOptions) -> Path | None:
    """Return the folder of the cache; None where there is to be none."""
    place = options.cache or os.environ.get("TRUEBENCH_CACHE", "").strip() or FOLDER
    named_off = options.cache is None and place.lower() in _OFF
    return None if options.no_cache or named_off else Path(place)


def open_cache(options: CacheOptions, *, reading: bool = False) -> Ledger | None:
    """Return the cache; None where there is to be none. For `reading` alone none is made, and nothing is kept there.

    Raises UserError where it cannot be used. Only the usual place, if nothing can be written there, is gone without.
    """
    folder = cache_folder(options)
    if folder is None or (reading and not (folder / FILE).exists()):
        return None
    try:
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)  # another command may be making it at this moment
            (folder / ".gitignore").write_text("*\n", encoding="utf-8")  # a folder of the user's keeps its own
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "not writable", str(folder))
    except OSError as error:
        if options.cache is not None or "TRUEBENCH_CACHE" in os.environ:
            raise write_error(f"--cache {folder}", error.strerror or error) from error
        warn(f"truebench: no cache in {folder.absolute()} ({error.strerror or error}); --cache DIR names another place")
        return None
    return Ledger(folder / FILE, shared=True, keeps=not reading)


def clear_cache(folder: Path) -> None:
    """Remove the file of a cache, whatever state it is in. Raises UserError where it cannot be removed."""
    for suffix in ("", "-wal", "-shm"):
        try:
            (folder / f"{FILE}{suffix}").unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"--cache {folder}: cannot be removed: {error.strerror or error}") from error
