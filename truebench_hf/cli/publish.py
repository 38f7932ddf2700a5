"""`truebench publish results`, `space` and `metric`, and what all commands share that push something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from truebench_hf.api import publishing
from truebench_hf.cli.commands import command
from truebench_hf.text.terminal import complain, how_many, say

if TYPE_CHECKING:
    from truebench_hf.hub.push import Pushed

RepoId = Annotated[str, typer.Option(help="Repository on the Hub: ORG/NAME.")]
Private = Annotated[bool, typer.Option("--private", help="Create it as, and insist on, a private repository.")]
Gated = Annotated[
    Literal["auto", "manual"] | None,
    typer.Option(help="Files only for who asks: auto gives access at once, manual waits for you."),
]
Revision = Annotated[str | None, typer.Option(help="Branch to push to; made if need be. By default main.")]
Tag = Annotated[str | None, typer.Option(help="Tag the result, e.g. v1; a tag that is there is never moved.")]
CreatePr = Annotated[bool, typer.Option("--create-pr", help="As a pull request.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List files and sizes; push nothing.")]


def add() -> None:
    """Add the commands."""
    command("publish results", _results)
    command("publish space", _space)
    command("publish metric", _metric)


def _results(
    run: Annotated[str, typer.Argument(help="Folder of a finished run or study; with --check a results data set.")],
    repo_id: Annotated[str | None, typer.Option(help="Results data set that gets the run: ORG/RESULTS.")] = None,
    model_repo: Annotated[str | None, typer.Option(help="Model whose page gets the score: ORG/MODEL.")] = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="With --model-repo: the benchmark's data set on the Hub, ORG/NAME or ORG/NAME@REVISION."),
    ] = None,
    variant: Annotated[str, typer.Option(help="With --model-repo: name of a variant, e.g. of another judge.")] = "",
    direct: Annotated[
        bool, typer.Option("--direct", help="Commit to the model repository without pull request.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also a run of a scripted model, or of another than --model-repo names.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="In place of the run there that measured the same.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Publish nothing: check a results data set (a checkout, or ORG/RESULTS).")
    ] = False,
    before: Annotated[
        str | None, typer.Option(help="With --check: one that it must not have less than, as its main branch.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Data of no known benchmark: everybody may read its prompts and answers.")
    ] = False,
    private: Private = False,
    gated: Gated = None,
    revision: Revision = None,
    tag: Tag = None,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    if check:
        _check(run, before)
        return
    for pushed in publishing.publish_results(
        Path(run), repo_id, model_repo=model_repo, dataset=dataset, variant=variant, direct=direct, force=force,
        replace=replace, public=public,
        private=private, gated=gated, revision=revision, tag=tag, create_pr=create_pr, dry_run=dry_run,
    ):  # fmt: skip
        show_pushed(pushed)


def _check(place: str, before: str | None) -> None:
    """Print every fault of a results data set; any makes the exit code 1."""
    found = publishing.check_results(place, before)
    for fault in found.faults:
        complain(fault)
    said = f"faults: {len(found.faults)}" if found.faults else "nothing vanished, nothing stands twice"
    say(f"runs: {found.runs}, scores: {found.scores}; {said}")
    if found.faults:
        raise typer.Exit(1)


def _space(
    repo_id: RepoId,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of the Space; by default the one of this checkout.")
    ] = None,
    private: Private = False,
    revision: Revision = None,
    tag: Tag = None,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    show_pushed(
        publishing.publish_space(
            repo_id, folder, private=private, revision=revision, tag=tag, create_pr=create_pr, dry_run=dry_run
        )
    )


def _metric(
    name: Annotated[str, typer.Argument(help="Name of the metric, e.g. truebench_score.")],
    repo_id: RepoId,
    private: Private = False,
    revision: Revision = None,
    tag: Tag = None,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    show_pushed(
        publishing.publish_metric(
            name, repo_id, private=private, revision=revision, tag=tag, create_pr=create_pr, dry_run=dry_run
        )
    )


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
