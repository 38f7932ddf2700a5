"""`truebench data list`, `build` and `push`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from truebench_hf.api import publishing
from truebench_hf.cli.commands import command
from truebench_hf.cli.publish import CreatePr, DryRun, Gated, Private, RepoId, Revision, Tag, show_pushed
from truebench_hf.options import pairs
from truebench_hf.text.terminal import say, warn

Name = Annotated[str, typer.Argument(help="Name of a data set, as in `truebench data list`.")]


def add() -> None:
    """Add the commands; `data rules` is added by `studies`."""
    command("data list", _list)
    command("data build", _build)
    command("data push", _push)


def _list(
    name: Annotated[
        str | None, typer.Argument(help="One of them: its columns, configurations, licence and source.")
    ] = None,
) -> None:
    if name is None:
        _all()
    else:
        _describe(name)


def _all() -> None:
    from truebench_hf.data.catalogue import CATALOGUE
    from truebench_hf.data.sources.forms import sets
    from truebench_hf.loaders.card import Table, plain

    rows = tuple((e.name, e.licence, e.source or "built in", e.summary) for e in CATALOGUE.values())
    say(plain(Table("Data sets", ("name", "licence", "rows from", "what"), rows)), end="\n\n")
    published = tuple((name, form.published, form.holds) for name, form in sets().items())
    title = "Rubrics of others, as --data SOURCE:PATH (a file, a folder of them, or a Hub id)"
    say(plain(Table(title, ("source", "published as", "beside the criteria"), published)))


def _describe(name: str) -> None:
    from truebench_hf.data.catalogue import entry
    from truebench_hf.loaders.prepare import corpus, load

    its, what = corpus(name), entry(name)
    say(f"{what.title}: {what.summary}")
    say(f"rows from: {what.source or 'built in'}")
    say(f"licence: {what.licence}" + ("" if what.publishable else " (pushed only with --i-have-the-rights)"))
    say(f"configurations: {', '.join(config.name for config in its.BUILDER_CONFIGS)}")
    say(f"splits: {', '.join(what.splits)}")
    for config in its.PREPARED:
        say(f"columns of {config}:")
        for column, feature in its(config_name=config).info.features.items():
            say(f"  {column}: {_kind(feature)}")
    if what.source is None:
        say(f"rows: {', '.join(f'{len(table):,} in {split}' for split, table in load(name).items())}")


def _build(
    name: Name,
    out: Annotated[Path, typer.Option(help="Folder to write: new, empty, or an earlier build.")],
    source: Annotated[
        str | None, typer.Option(help="Path, URL or Hub id the rows come from; none for what is built in.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="facts_grounding: open (default) or blind.")] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(help="truebench, rubric_eval, training: ours=theirs, for a column of another name."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Stop at the first row that cannot be used; else left out and counted.")
    ] = False,
) -> None:
    from truebench_hf.loaders.card import plain

    named = pairs(tuple(column or ()), "--column")
    built = publishing.build_data(name, out, source=source, split=split, columns=named, strict=strict)
    for note in built.facts.notes:
        warn(f"note: {note}")
    for table in built.facts.tables:
        say(plain(table), end="\n\n")
    if built.facts.totals:
        say(", ".join(f"{what}: {n:,}" for what, n in built.facts.totals.items()))
    (config, splits), *more = built.facts.rows.items()
    say(f"{name} {built.facts.version}: {', '.join(f'{n:,} rows in {split}' for split, n in splits.items())}")
    if more:
        say(f"further configurations: {', '.join(other for other, _ in more)}")
    say(f'load_dataset("{out}", "{config}", split="{next(iter(splits))}")')


def _push(
    folder: Annotated[Path, typer.Argument(help="Folder that `truebench data build` wrote.")],
    repo_id: RepoId,
    private: Private = False,
    gated: Gated = None,
    revision: Revision = None,
    tag: Tag = None,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
    rights: Annotated[
        bool, typer.Option("--i-have-the-rights", help="State that you may publish a set of restricted licence.")
    ] = False,
) -> None:
    show_pushed(
        publishing.push_data(
            folder, repo_id, rights=rights,
            private=private, gated=gated, revision=revision, tag=tag, create_pr=create_pr, dry_run=dry_run,
        )
    )  # fmt: skip


def _kind(feature: Any) -> str:
    """A feature in short: its type, the names of a class label, the fields of a list of objects."""
    if isinstance(feature, dict):
        return "{" + ", ".join(f"{name}: {_kind(its)}" for name, its in feature.items()) + "}"
    if hasattr(feature, "feature"):
        return f"list of {_kind(feature.feature)}"
    if hasattr(feature, "names"):
        return f"one of {', '.join(feature.names)}"
    return str(feature.dtype)
