"""What models are asked and what they answered: `truebench study prompts` and `truebench cache`."""

from __future__ import annotations

import time
from pathlib import Path

from truebench_hf.data.rubrics import RUBRIC_TYPES
from truebench_hf.engine.ledger import Calls
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.official import write_official_prompts
from truebench_hf.loaders.card import table
from truebench_hf.options import option
from truebench_hf.prompts import about_prompts, example, names, variants
from truebench_hf.report.console import show
from truebench_hf.report.table import Column, Table
from truebench_hf.study.options import CACHE_FILE, CacheOptions, PromptOptions
from truebench_hf.text.terminal import how_many, say

_DAY = 86_400


class ShowOptions(PromptOptions):
    """Which prompt is shown, and how."""

    name: str | None = option(None, help="Name of a prompt; without one all are listed.", argument=True)
    source: bool = option(False, help="The template itself, to begin one of your own with.")
    structured: bool = option(False, help="As it is asked with a JSON schema.")
    reasoning: bool = option(True, help="As it is asked with or without reasons.")
    official: str | None = option(
        None, help="evaluation_prompts.csv of google/FACTS-grounding-public: its judge prompts, for --prompt NAME=FILE."
    )
    out: str | None = option(None, help="With --official: folder for the prompts, one NAME.jinja each.", panel="Output")


def prompts(options: ShowOptions) -> None:
    """`truebench study prompts`."""
    if options.official:
        if not options.out:
            raise UserError("--official goes with --out: the folder for the prompts, one NAME.jinja each")
        written = write_official_prompts(Path(options.official), Path(options.out))
        say(" ".join(f"--prompt {name}={file}" for name, file in written.items()))
    elif options.name is None:
        about = about_prompts()
        rows = [(name, ", ".join(variants(name)) or "-", *about[name]) for name in names()]
        show([table("Prompts", ("name", "variants", "what it does", "who uses it"), rows)])
    else:
        _show(options, options.name)


def _show(options: ShowOptions, name: str) -> None:
    if name not in names():
        raise unknown("prompt", name, names())
    if options.source:
        say(options.prompts.source(name), end="")
        return
    kinds = {"kinds": list(RUBRIC_TYPES.values())} if name == "taxonomy" else {}
    say(example(name, options.prompts, structured=options.structured, reasoning=options.reasoning, **kinds))


def info(*, cache: str | None = None) -> None:
    """`truebench cache info`."""
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
