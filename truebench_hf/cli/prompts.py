"""`truebench prompts list`, `show` and `official`: what judges and writers are asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from truebench_hf.cli import panels
from truebench_hf.cli.options import App, command, later
from truebench_hf.errors import unknown
from truebench_hf.options import Options, option
from truebench_hf.terminal import say

if TYPE_CHECKING:
    from truebench_hf.cli.prompt_options import ShowOptions

_SHOW = "What a prompt asks, filled with a small sample, or its template."


@dataclass(frozen=True, kw_only=True)
class OfficialOptions(Options):
    """Where the official prompts are, and where ours of them go."""

    csv: str = option(help="evaluation_prompts.csv of google/FACTS-grounding-public.", argument=True)
    out: str = option(help="Folder for the prompts, one NAME.jinja each.", panel="Output")


def add_to(app: typer.Typer) -> None:
    """Add the group `prompts`."""
    prompts = App(no_args_is_help=True, rich_markup_mode="rich")
    prompts.command("list", help="The prompts there are, and who uses them.")(_list)
    later(prompts, "show", _SHOW, _make_show)
    command(
        prompts, "official", OfficialOptions, _official,
        "The judge prompts of FACTS Grounding from its evaluation_prompts.csv, for --prompt NAME=FILE.",
    )  # fmt: skip
    app.add_typer(
        prompts,
        name="prompts",
        rich_help_panel=panels.JUDGES,
        help="See what judges are asked; --prompt puts another text in its place.",
    )


def _list() -> None:
    from truebench_hf.judging.sample_prompts import ABOUT
    from truebench_hf.loaders.counts import Table, plain
    from truebench_hf.prompts import names, variants

    rows = tuple((name, ", ".join(variants(name)) or "-", *ABOUT[name]) for name in names())
    say(plain(Table("Prompts", ("name", "variants", "what it does", "who uses it"), rows)))


def _make_show(app: typer.Typer) -> None:
    from truebench_hf.cli.prompt_options import ShowOptions

    command(app, "show", ShowOptions, _show, _SHOW)


def _show(options: ShowOptions) -> None:
    from truebench_hf.benchmarks.rubric_eval.rubric_types import RUBRIC_TYPES
    from truebench_hf.judging.sample_prompts import example
    from truebench_hf.prompts import names

    if options.name not in names():
        raise unknown("prompt", options.name, names())
    if options.source:
        say(options.prompts.source(options.name), end="")
        return
    kinds = {"kinds": list(RUBRIC_TYPES.values())} if options.name == "taxonomy" else {}
    say(example(options.name, options.prompts, structured=options.structured, reasoning=options.reasoning, **kinds))


def _official(options: OfficialOptions) -> None:
    from pathlib import Path

    from truebench_hf.judging.grounding.official import write_official_prompts

    made = write_official_prompts(Path(options.csv), Path(options.out))
    say(" ".join(f"--prompt {name}={file}" for name, file in made.items()))
