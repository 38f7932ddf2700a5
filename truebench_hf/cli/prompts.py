"""`truebench study prompts [NAME]`: what judges and writers are asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from truebench_hf.cli.commands import later
from truebench_hf.errors import UserError, unknown
from truebench_hf.text.terminal import say

if TYPE_CHECKING:
    from truebench_hf.cli.prompt_options import ShowOptions


def add() -> None:
    """Add the command."""
    later("study prompts", _load)


def _load() -> tuple[type[Any], Callable[[Any], None]]:
    from truebench_hf.cli.prompt_options import ShowOptions

    return ShowOptions, _prompts


def _prompts(options: ShowOptions) -> None:
    if options.official:
        _official(options.official, options.out)
    elif options.name is None:
        _list()
    else:
        _show(options, options.name)


def _list() -> None:
    from truebench_hf.judging.sample_prompts import about_prompts
    from truebench_hf.loaders.card import Table, plain
    from truebench_hf.prompts import names, variants

    about = about_prompts()
    rows = tuple((name, ", ".join(variants(name)) or "-", *about[name]) for name in names())
    say(plain(Table("Prompts", ("name", "variants", "what it does", "who uses it"), rows)))


def _show(options: ShowOptions, name: str) -> None:
    from truebench_hf.data.rubrics import RUBRIC_TYPES
    from truebench_hf.judging.sample_prompts import example
    from truebench_hf.prompts import names

    if name not in names():
        raise unknown("prompt", name, names())
    if options.source:
        say(options.prompts.source(name), end="")
        return
    kinds = {"kinds": list(RUBRIC_TYPES.values())} if name == "taxonomy" else {}
    say(example(name, options.prompts, structured=options.structured, reasoning=options.reasoning, **kinds))


def _official(csv: str, out: str | None) -> None:
    from pathlib import Path

    from truebench_hf.judging.grounding.official import write_official_prompts

    if not out:
        raise UserError("--official goes with --out: the folder for the prompts, one NAME.jinja each")
    written = write_official_prompts(Path(csv), Path(out))
    say(" ".join(f"--prompt {name}={file}" for name, file in written.items()))
