"""`truebench publish results`, `space` and `metric`, and `data push`: what goes to the Hub, and what went there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import typer

from truebench_hf.api import publishing
from truebench_hf.api.publishing import MetricOptions, PublishSpaceOptions, PushOptions, ResultsOptions
from truebench_hf.options import option
from truebench_hf.text.terminal import complain, how_many, say

if TYPE_CHECKING:
    from truebench_hf.hub.push import Pushed


@dataclass(frozen=True, kw_only=True)
class ResultsCommand(ResultsOptions):
    """The options of `publish results`: publishing, or checking."""

    PANEL: ClassVar[str] = "Options"
    check: bool = option(False, help="Publish nothing: check a results data set (a checkout, or ORG/RESULTS).")
    before: str | None = option(None, help="With --check: one that it must not have less than, as its main branch.")


def results(options: ResultsCommand) -> None:
    """`truebench publish results`."""
    if options.check:
        _check(options.run, options.before)
        return
    for pushed in publishing.publish_results(options):
        show_pushed(pushed)


def push_data(options: PushOptions) -> None:
    """`truebench data push`."""
    show_pushed(publishing.push_data(options))


def publish_space(options: PublishSpaceOptions) -> None:
    """`truebench publish space`."""
    show_pushed(publishing.publish_space(options))


def publish_metric(options: MetricOptions) -> None:
    """`truebench publish metric`."""
    show_pushed(publishing.publish_metric(options))


def _check(place: str, before: str | None) -> None:
    """Print every fault of a results data set; any makes the exit code 1."""
    checked = publishing.check_results(place, before)
    for fault in checked.faults:
        complain(fault)
    outcome = f"faults: {len(checked.faults)}" if checked.faults else "nothing vanished, nothing stands twice"
    say(f"runs: {checked.runs}, scores: {checked.scores}; {outcome}")
    if checked.faults:
        raise typer.Exit(1)


def show_pushed(pushed: Pushed) -> None:
    """Say what went where, or would go."""
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
    if pushed.tag and not pushed.dry_run:
        say(f"tag {pushed.tag}: {pushed.repo_id}@{pushed.tag}")
