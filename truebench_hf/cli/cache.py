"""`truebench cache`: what the cache across folders holds, and making room in it."""

from __future__ import annotations

import time
from pathlib import Path

from truebench_hf.engine.ledger import Calls
from truebench_hf.errors import UserError
from truebench_hf.study.options import CACHE_FILE, CacheOptions
from truebench_hf.text.terminal import how_many, say

_DAY = 86_400


def info(*, cache: str | None = None) -> None:
    """`truebench cache info`."""
    from truebench_hf.report.console import show
    from truebench_hf.report.table import Column, Table

    folder, store = _opened(cache)
    if store is None:
        say(f"{folder}: nothing is cached there")
        return
    rows = [
        {"model": model, "answers": count, "first": _day(first), "last": _day(last)}
        for model, (count, first, last) in store.dates().items()
    ]
    store.close()
    size = sum(file.stat().st_size for file in folder.glob(f"{CACHE_FILE}*"))
    columns = (
        Column("model", "model"), Column("answers", "answers", "count"), Column("first", "first asked"),
        Column("last", "last asked"),
    )  # fmt: skip
    show([Table("cache", columns, rows, f"{folder}: {size / 1e6:,.1f} MB")])


def prune(*, days: float = 90, cache: str | None = None) -> None:
    """`truebench cache prune`."""
    if days < 0:
        raise UserError(f"--days {days}: must be at least 0")
    folder, store = _opened(cache)
    removed = store.prune(time.time() - days * _DAY) if store else 0
    if store:
        store.close()
    say(f"{folder}: {how_many(removed, 'answer')} removed")


def clear(*, cache: str | None = None) -> None:
    """`truebench cache clear`."""
    folder = _folder(cache)
    for suffix in ("", "-wal", "-shm"):  # whatever state it is in
        try:
            (folder / f"{CACHE_FILE}{suffix}").unlink(missing_ok=True)
        except OSError as error:
            raise UserError(f"--cache {folder}: cannot be removed: {error.strerror or error}") from error
    say(f"{folder}: empty")


def _folder(cache: str | None) -> Path:
    folder = CacheOptions(cache=cache).cache_folder
    if folder is None:
        raise UserError("TRUEBENCH_CACHE turns the cache off; name its folder by --cache")
    return folder


def _opened(cache: str | None) -> tuple[Path, Calls | None]:
    return _folder(cache), CacheOptions(cache=cache).open_cache(reading=True)


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))
