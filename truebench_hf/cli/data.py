"""`truebench data list` and `build`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from truebench_hf.api import publishing
from truebench_hf.api.publishing import BuildOptions
from truebench_hf.loaders.card import CardTable, plain
from truebench_hf.text.terminal import say, warn


def list_data(
    name: Annotated[
        str | None, typer.Argument(help="One of them: its columns, configurations, licence and source.")
    ] = None,
) -> None:
    """`truebench data list`."""
    if name is not None:
        return _describe(name)
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
