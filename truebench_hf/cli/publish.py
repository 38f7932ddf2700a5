"""`truebench publish results`, `space` and `metric`, and what all commands share that push something."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truebench_hf.cli import panels
from truebench_hf.cli.texts import TEXTS
from truebench_hf.errors import UserError
from truebench_hf.terminal import say

if TYPE_CHECKING:
    from truebench_hf.hub.push import Pushed

RepoId = Annotated[str, typer.Option(help="Repository on the Hub: ORG/NAME.")]
Private = Annotated[bool, typer.Option("--private", help="Create it as, and insist on, a private repository.")]
CreatePr = Annotated[bool, typer.Option("--create-pr", help="As a pull request.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="List files and sizes; push nothing.")]


def add_to(app: typer.Typer) -> None:
    """Add the command group `publish`."""
    group = typer.Typer(help="Put results, the Space or a metric on the Hub.", no_args_is_help=True)
    help = "A finished run into a results data set, and onto the model's page."
    group.command("results", help=help, epilog=TEXTS["publish results"])(_results)
    group.command("space", help="The Space: leaderboard, explorer and playground.")(_space)
    group.command("metric", help="One of the evaluate metrics, as a Space that evaluate.load finds.")(_metric)
    app.add_typer(group, name="publish", rich_help_panel=panels.REST)


def _results(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
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
    private: Private = False,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    from truebench_hf.hub.model_page import page, publish_page
    from truebench_hf.hub.results import publish_run

    if not repo_id and not model_repo:
        raise UserError("say where to: --repo-id ORG/RESULTS, --model-repo ORG/MODEL, or both")
    if model_repo and not dataset:
        raise UserError("--model-repo needs --dataset ORG/NAME: the data set whose leaderboard the score belongs to")
    # Made first: what is wrong with it must be known before the run is pushed.
    made = (
        page(run, model_repo, dataset, results_repo=repo_id, variant=variant, dry_run=dry_run)
        if model_repo and dataset
        else None
    )
    if repo_id:
        show_pushed(publish_run(run, repo_id, private=private, create_pr=create_pr, dry_run=dry_run))
    if made:
        show_pushed(publish_page(made, create_pr=not direct, dry_run=dry_run))


def _space(
    repo_id: RepoId,
    folder: Annotated[
        Path | None, typer.Option(help="Folder of the Space; by default the one of this checkout.")
    ] = None,
    private: Private = False,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    from truebench_hf.hub.space import publish_space

    source = folder or Path(__file__).resolve().parents[2] / "space"
    show_pushed(publish_space(source, repo_id, private=private, create_pr=create_pr, dry_run=dry_run))


def _metric(
    name: Annotated[str, typer.Argument(help="Name of the metric, e.g. truebench_score.")],
    repo_id: RepoId,
    private: Private = False,
    create_pr: CreatePr = False,
    dry_run: DryRun = False,
) -> None:
    import truebench_hf
    from truebench_hf.hub.space import publish_space

    folder = Path(truebench_hf.metric(name))
    if repo_id.rpartition("/")[2] != name:
        # evaluate looks for NAME.py in ORG/NAME.
        named = f"{repo_id.partition('/')[0]}/{name}"
        raise UserError(f"--repo-id {repo_id}: a metric loads by the name of its repository; call it {named}")
    message = f"Update {name}"
    show_pushed(publish_space(folder, repo_id, private=private, create_pr=create_pr, dry_run=dry_run, message=message))


def show_pushed(pushed: Pushed) -> None:
    """Say what went where, or would go."""
    for name, size in pushed.files.items():
        say(f"{size:>12,}  {name}")
    total = f"{len(pushed.files)} files, {sum(pushed.files.values()):,} bytes"
    if pushed.dry_run:
        say(f"dry run: {total} would go to {pushed.repo_type} {pushed.repo_id}")
    elif not pushed.new:
        say(f"nothing new for {pushed.repo_type} {pushed.repo_id}: the same waits as {pushed.url}")
    else:
        say(f"{total} to {pushed.repo_type} {pushed.repo_id}: {pushed.url}")
