"""`truebench data build`, `data push` and `publish` from Python: what goes to the Hub, each as one call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from truebench_hf.errors import UserError

if TYPE_CHECKING:
    from truebench_hf.hub.push import How, Pushed
    from truebench_hf.hub.results import Checked
    from truebench_hf.loaders.export import Built


def build_data(
    name: str,
    out: str | Path,
    *,
    source: str | Path | None = None,
    split: str | None = None,
    columns: Mapping[str, str] | None = None,
    strict: bool = False,
) -> Built:
    """Build a data set of `truebench data list` into the folder `out`: `truebench data build` as a call.

    `load_dataset(str(out))` reads the folder and `push_data` takes it. Raises UserError as the command does.
    """
    from truebench_hf.loaders.export import export

    return export(name, Path(out), source=source and str(source), split=split, columns=columns, strict=strict)


def push_data(folder: str | Path, repo_id: str, *, rights: bool = False, **how: Unpack[How]) -> Pushed:
    """Push a built folder to the data set `ORG/NAME` in one commit: `truebench data push` as a call.

    `rights` states that you may publish a set of restricted licence. `private`, `gated` ("auto" or "manual"), `revision`,
    `tag`, `create_pr` and `dry_run` are as the options of the command. Raises UserError as it does.
    """
    from truebench_hf.hub.uploads import push_data

    return push_data(Path(folder), repo_id, rights=rights, **how)


def publish_results(
    run: str | Path,
    repo_id: str | None = None,
    *,
    model_repo: str | None = None,
    dataset: str | None = None,
    variant: str = "",
    direct: bool = False,
    force: bool = False,
    replace: bool = False,
    public: bool = False,
    **how: Unpack[How],
) -> list[Pushed]:
    """A finished run into the results data set `repo_id`, and onto the page of its model: `truebench publish results`.

    The page of `model_repo` gets the pass rates by pull request, or `direct`ly, as results on the benchmark `dataset`
    (`ORG/NAME[@REVISION]`). What is pushed, in this order. Raises UserError where the run does not hold together or is
    not that model's, without `force` also for a scripted one, and where the data set has other scores of what was
    measured, which it may `replace`. Prompts and answers of no known benchmark want `private` or `public`. All
    this is checked before anything is pushed.
    """
    from truebench_hf.hub.model_page import page, publish_page
    from truebench_hf.hub.results import publish_run

    if not repo_id and not model_repo:
        raise UserError("say where to: --repo-id ORG/RESULTS, --model-repo ORG/MODEL, or both")
    if model_repo and not dataset:
        raise UserError("--model-repo needs --dataset ORG/NAME: the data set whose leaderboard the score belongs to")
    lost = [f"--{name.replace('_', '-')}" for name in ("private", "gated", "revision", "tag") if how.get(name)]
    if lost and not repo_id:
        raise UserError(f"{', '.join(lost)} is about the results data set: name one with --repo-id")
    dry_run, pushed, made = how.get("dry_run", False), [], None
    if model_repo and dataset:
        made = page(
            run, model_repo, dataset, results_repo=repo_id, revision=how.get("revision"), variant=variant, force=force,
            dry_run=dry_run,
        )  # fmt: skip
    if repo_id:
        pushed.append(publish_run(run, repo_id, force=force, replace=replace, public=public, **how))
    try:
        return pushed + ([publish_page(made, create_pr=not direct, dry_run=dry_run)] if made else [])
    except UserError as error:
        raise UserError(f"{error} (the run itself is in {repo_id})" if repo_id else str(error)) from error


def check_results(place: str | Path = ".", before: str | Path | None = None) -> Checked:
    """Check a results data set, a folder or `ORG/NAME[@REVISION]`: `truebench publish results --check` as a call.

    `before` is one that it must not have less than, as its main branch is for a pull request. Raises UserError where
    one of them is none.
    """
    from truebench_hf.hub.push import fetched
    from truebench_hf.hub.results import check

    then = fetched(before) if before else None
    return check(fetched(place), then, name=str(place), name_before=str(before or ""))


def publish_space(repo_id: str, folder: str | Path | None = None, **how: Unpack[How]) -> Pushed:
    """Push the Space with this library to `ORG/NAME`: `truebench publish space` as a call.

    `folder` is by default the one of this checkout. The options are as in `push_data`, but for `gated`. Raises UserError
    as the command does.
    """
    from truebench_hf.hub.uploads import publish_space

    return publish_space(Path(folder) if folder else Path(__file__).resolve().parents[2] / "space", repo_id, **how)


def publish_metric(name: str, repo_id: str, **how: Unpack[How]) -> Pushed:
    """Push one of the `evaluate` modules, with this library, to the Space `ORG/NAME`: `truebench publish metric` as a call.

    The options are as in `publish_space`. Raises UserError on a repository of another name than the metric's, which
    `evaluate.load` would not find, and as the command does.
    """
    from truebench_hf.evaluate_modules import module_folder
    from truebench_hf.hub.uploads import publish_space

    folder = module_folder(name)
    if repo_id.rpartition("/")[2] != name:
        # evaluate looks for NAME.py in ORG/NAME.
        named = f"{repo_id.partition('/')[0]}/{name}"
        raise UserError(f"--repo-id {repo_id}: a metric loads by the name of its repository; call it {named}")
    if "." in repo_id:  # it imports what it loads by the name of the repository
        raise UserError(f"--repo-id {repo_id}: evaluate cannot load from an organisation with a dot; give another")
    return publish_space(folder, repo_id, message=f"Update {name}", **how)
