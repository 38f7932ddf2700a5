"""`truebench data` and `truebench publish`: data sets listed, built and pushed, and what else goes to the Hub."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import typer

from truebench_hf.api.face import BuildOptions, build_folder, metric_to_hub
from truebench_hf.errors import UserError
from truebench_hf.hub import publish, push
from truebench_hf.hub.push import MetricOptions, PublishSpaceOptions, PushOptions, ResultsOptions
from truebench_hf.hub.results import check_results
from truebench_hf.loaders.card import table
from truebench_hf.options import option
from truebench_hf.report.console import show
from truebench_hf.text.terminal import complain, how_many, say, warn

if TYPE_CHECKING:
    from truebench_hf.hub.push import Pushed


def list_data(name: str | None = None) -> None:
    """`truebench data list`."""
    if name is not None:
        return _describe(name)
    from truebench_hf.data.catalogue import CATALOGUE
    from truebench_hf.data.sources.forms import sets

    rows = [(e.name, e.licence, e.source or "built in", e.summary) for e in CATALOGUE.values()]
    published = [(name, form.published, form.holds) for name, form in sets().items()]
    title = "Rubrics of others, as --data SOURCE:PATH (a file, a folder of them, or a Hub id)"
    others = table(title, ("source", "published as", "beside the criteria"), published)
    show([table("Data sets", ("name", "licence", "rows from", "what"), rows), others])


def build(options: BuildOptions) -> None:
    """`truebench data build`."""
    built = build_folder(options)
    for note in built.facts.notes:
        warn(f"note: {note}")
    show(built.facts.tables)
    if built.facts.totals:
        say(", ".join(f"{what}: {n:,}" for what, n in built.facts.totals.items()))
    (config, splits), *more = built.facts.rows.items()
    say(f"{options.name} {built.facts.version}: {', '.join(f'{n:,} rows in {split}' for split, n in splits.items())}")
    if more:
        say(f"further configurations: {', '.join(other for other, _ in more)}")
    say(f'load_dataset("{options.out}", "{config}", split="{next(iter(splits))}")')


def push_data(options: PushOptions) -> None:
    """`truebench data push`."""
    _show(push.push_data(options))


class ResultsCommand(ResultsOptions):
    """The options of `publish results`: publishing, or checking."""

    PANEL: ClassVar[str] = "Options"
    check: bool = option(False, help="Publish nothing: check a results data set (a checkout, or ORG/RESULTS).")
    before: str | None = option(None, help="With --check: one that it must not have less than, as its main branch.")


def publish_results(options: ResultsCommand) -> None:
    """`truebench publish results`. Faults of a results data set make the exit code 1."""
    if not options.check:
        if options.before:
            raise UserError("--before goes with --check, which publishes nothing")
        return _show(*publish.publish_results(options))
    if options.repo_id or options.model_repo:
        raise UserError("--check publishes nothing: leave --repo-id and --model-repo out")
    checked = check_results(options.run, options.before)
    for fault in checked.faults:
        complain(fault)
    outcome = f"faults: {len(checked.faults)}" if checked.faults else "nothing vanished, nothing stands twice"
    say(f"runs: {checked.runs}, scores: {checked.scores}; {outcome}")
    if checked.faults:
        raise typer.Exit(1)


def publish_space(options: PublishSpaceOptions) -> None:
    """`truebench publish space`."""
    _show(push.publish_space(options))


def publish_metric(options: MetricOptions) -> None:
    """`truebench publish metric`."""
    _show(metric_to_hub(options))


def _show(*every_push: Pushed) -> None:
    """Say what went where, or would go."""
    for pushed in every_push:
        for name, size in pushed.files.items():
            say(f"{size:>12,}  {name}")
        for name in pushed.texts:
            say(f"{name} holds every prompt and answer, of data that is no known benchmark")
        total = f"{how_many(len(pushed.files), 'file')}, {sum(pushed.files.values()):,} bytes"
        if pushed.dry_run:
            say(f"dry run: {total} would go to {pushed.repo_type} {pushed.repo_id}")
        elif not pushed.new:
            say(f"nothing new for {pushed.repo_type} {pushed.repo_id}: the same is there already: {pushed.url}")
        else:
            say(f"{total} to {pushed.repo_type} {pushed.repo_id}: {pushed.url}")


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


def _kind(feature: Any) -> str:
    """A feature in short: its type, the names of a class label, the fields of a list of objects."""
    if isinstance(feature, dict):
        return "{" + ", ".join(f"{name}: {_kind(inner)}" for name, inner in feature.items()) + "}"
    if hasattr(feature, "feature"):
        return f"list of {_kind(feature.feature)}"
    if hasattr(feature, "names"):
        return f"one of {', '.join(feature.names)}"
    return str(feature.dtype)
