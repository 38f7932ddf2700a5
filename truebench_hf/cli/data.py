"""`truebench data list` and `build`, and `truebench study prompts`: what is judged, and what judges are asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from truebench_hf.api import publishing
from truebench_hf.api.publishing import BuildOptions
from truebench_hf.data.rubrics import RUBRIC_TYPES
from truebench_hf.errors import UserError, unknown
from truebench_hf.judging.grounding.official import write_official_prompts
from truebench_hf.judging.sample_prompts import about_prompts, example
from truebench_hf.loaders.card import CardTable, plain
from truebench_hf.options import option
from truebench_hf.prompts import names, variants
from truebench_hf.study.options import PromptOptions
from truebench_hf.text.terminal import say, warn


def list_data(
    name: Annotated[
        str | None, typer.Argument(help="One of them: its columns, configurations, licence and source.")
    ] = None,
) -> None:
    """`truebench data list`."""
    if name is None:
        _all()
    else:
        _describe(name)


def _all() -> None:
    from truebench_hf.data.catalogue import CATALOGUE
    from truebench_hf.data.sources.forms import sets

    rows = tuple((e.name, e.licence, e.source or "built in", e.summary) for e in CATALOGUE.values())
    say(plain(CardTable("Data sets", ("name", "licence", "rows from", "what"), rows)), end="\n\n")
    published = tuple((name, form.published, form.holds) for name, form in sets().items())
    title = "Rubrics of others, as --data SOURCE:PATH (a file, a folder of them, or a Hub id)"
    say(plain(CardTable(title, ("source", "published as", "beside the criteria"), published)))


def _describe(name: str) -> None:
    from truebench_hf.data.catalogue import entry
    from truebench_hf.loaders.prepare import corpus, load

    data_set, what = corpus(name), entry(name)
    say(f"{what.title}: {what.summary}")
    say(f"rows from: {what.source or 'built in'}")
    say(f"licence: {what.licence}" + ("" if what.publishable else " (pushed only with --i-have-the-rights)"))
    say(f"configurations: {', '.join(config.name for config in data_set.BUILDER_CONFIGS)}")
    say(f"splits: {', '.join(what.splits)}")
    for config in data_set.PREPARED:
        say(f"columns of {config}:")
        for column, feature in data_set(config_name=config).info.features.items():
            say(f"  {column}: {_kind(feature)}")
    if what.source is None:
        say(f"rows: {', '.join(f'{len(table):,} in {split}' for split, table in load(name).items())}")


def build(options: BuildOptions) -> None:
    """`truebench data build`."""
    built = publishing.build_data(options)
    for note in built.facts.notes:
        warn(f"note: {note}")
    for table in built.facts.tables:
        say(plain(table), end="\n\n")
    if built.facts.totals:
        say(", ".join(f"{what}: {n:,}" for what, n in built.facts.totals.items()))
    (config, splits), *more = built.facts.rows.items()
    say(f"{options.name} {built.facts.version}: {', '.join(f'{n:,} rows in {split}' for split, n in splits.items())}")
    if more:
        say(f"further configurations: {', '.join(other for other, _ in more)}")
    say(f'load_dataset("{options.out}", "{config}", split="{next(iter(splits))}")')


def _kind(feature: Any) -> str:
    """A feature in short: its type, the names of a class label, the fields of a list of objects."""
    if isinstance(feature, dict):
        return "{" + ", ".join(f"{name}: {_kind(inner)}" for name, inner in feature.items()) + "}"
    if hasattr(feature, "feature"):
        return f"list of {_kind(feature.feature)}"
    if hasattr(feature, "names"):
        return f"one of {', '.join(feature.names)}"
    return str(feature.dtype)


@dataclass(frozen=True, kw_only=True)
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
        rows = tuple((name, ", ".join(variants(name)) or "-", *about[name]) for name in names())
        say(plain(CardTable("Prompts", ("name", "variants", "what it does", "who uses it"), rows)))
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
