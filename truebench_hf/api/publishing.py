"""What goes to the Hub: data sets built and pushed, results, the Space and metrics, each by one function of its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from truebench_hf.errors import UserError, unknown
from truebench_hf.options import Options, option, pairs

if TYPE_CHECKING:
    from truebench_hf.hub.push import Pushed
    from truebench_hf.hub.results import Checked
    from truebench_hf.loaders.export import Built

_GATED = ("auto", "manual")


@dataclass(frozen=True, kw_only=True)
class BuildOptions(Options):
    """Which data set is built, of what, and where."""

    PANEL: ClassVar[str] = "Options"
    name: str = option(help="Name of a data set, as in `truebench data list`.", argument=True)
    out: str = option(help="Folder to write: new, empty, or an earlier build.")
    source: str | None = option(None, help="Path, URL or Hub id the rows come from; none for what is built in.")
    split: str | None = option(None, help="facts_grounding: open (default) or blind.")
    column: tuple[str, ...] = option(
        (), help="truebench, rubric_eval, training: ours=theirs, for a column of another name."
    )
    strict: bool = option(False, help="Stop at the first row that cannot be used; else left out and counted.")


@dataclass(frozen=True, kw_only=True)
class HubOptions(Options):
    """How something goes to the Hub."""

    PANEL: ClassVar[str] = "Hub"
    private: bool = option(False, help="Create it as, and insist on, a private repository.")
    revision: str | None = option(None, help="Branch to push to; made if need be. By default main.")
    tag: str | None = option(None, help="Tag the result, e.g. v1; a tag that is there is never moved.")
    create_pr: bool = option(False, help="As a pull request.")
    dry_run: bool = option(False, help="List files and sizes; push nothing.")

    @property
    def how(self) -> dict[str, Any]:
        """What pushing takes of it."""
        names = ("private", "revision", "tag", "create_pr", "dry_run", "gated")
        return {name: getattr(self, name) for name in names if hasattr(self, name)}


@dataclass(frozen=True, kw_only=True)
class GatedOptions(HubOptions):
    """The same for a data set, whose files may be given to who asks alone."""

    PANEL: ClassVar[str] = "Hub"
    gated: Literal["auto", "manual"] | None = option(
        None, help="Files only for who asks: auto gives access at once, manual waits for you."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.gated not in (None, *_GATED):
            raise unknown("--gated", self.gated, _GATED)


@dataclass(frozen=True, kw_only=True)
class PushOptions(GatedOptions):
    """Which data set is pushed, and where."""

    PANEL: ClassVar[str] = "Options"
    folder: str = option(help="Folder that `truebench data build` wrote.", argument=True)
    repo_id: str = option(help="Repository on the Hub: ORG/NAME.")
    rights: bool = option(
        False, flag="--i-have-the-rights", help="State that you may publish a set of restricted licence."
    )


@dataclass(frozen=True, kw_only=True)
class ResultsOptions(GatedOptions):
    """Which run is published, and where."""

    PANEL: ClassVar[str] = "Options"
    run: str = option(help="Folder of a finished run or study; with --check a results data set.", argument=True)
    repo_id: str | None = option(None, help="Results data set that gets the run: ORG/RESULTS.")
    model_repo: str | None = option(None, help="Model whose page gets the score: ORG/MODEL.")
    dataset: str | None = option(
        None, help="With --model-repo: the benchmark's data set on the Hub, ORG/NAME or ORG/NAME@REVISION."
    )
    variant: str = option("", help="With --model-repo: name of a variant, e.g. of another judge.")
    direct: bool = option(False, help="Commit to the model repository without pull request.")
    force: bool = option(False, help="Also a run of a scripted model, or of another than --model-repo names.")
    replace: bool = option(False, help="In place of the run there that measured the same.")
    public: bool = option(False, help="Data of no known benchmark: everybody may read its prompts and answers.")


@dataclass(frozen=True, kw_only=True)
class PublishSpaceOptions(HubOptions):
    """Which Space is pushed, and where."""

    PANEL: ClassVar[str] = "Options"
    repo_id: str = option(help="Repository on the Hub: ORG/NAME.")
    folder: str | None = option(None, help="Folder of the Space; by default the one of this checkout.")


@dataclass(frozen=True, kw_only=True)
class MetricOptions(HubOptions):
    """Which metric is pushed, and where."""

    PANEL: ClassVar[str] = "Options"
    name: str = option(help="Name of the metric, e.g. truebench_score.", argument=True)
    repo_id: str = option(help="Repository on the Hub: ORG/NAME.")


def build_data(options: BuildOptions) -> Built:
    """Build a data set of `truebench data list` into a folder: `truebench data build` as a call.

    `load_dataset(out)` reads the folder and `push_data` takes it. Raises UserError as the command does.
    """
    from truebench_hf.loaders.export import export

    columns = pairs(options.column, "--column")
    out = Path(options.out)
    return export(options.name, out, source=options.source, split=options.split, columns=columns, strict=options.strict)


def push_data(options: PushOptions) -> Pushed:
    """Push a built folder to a data set in one commit: `truebench data push` as a call. Raises UserError as it does."""
    from truebench_hf.hub.queue import push_data

    return push_data(Path(options.folder), options.repo_id, rights=options.rights, **options.how)


def publish_results(options: ResultsOptions) -> list[Pushed]:
    """A finished run into a results data set, and onto the page of its model: `truebench publish results` as a call.

    The page of the model gets the pass rates by pull request, or directly, as results on the benchmark's data set. What
    is pushed, in this order. Raises UserError where the run does not hold together or is not that model's, without
    `force` also for a scripted one, and where the data set has other scores of what was measured, which it may `replace`. Prompts and answers of no known benchmark want `private` or `public`. All this is checked before anything
    is pushed.
    """
    from truebench_hf.hub.model_page import page, publish_page
    from truebench_hf.hub.results import publish_run

    repo_id, model_repo, dataset = options.repo_id, options.model_repo, options.dataset
    if not repo_id and not model_repo:
        raise UserError("say where to: --repo-id ORG/RESULTS, --model-repo ORG/MODEL, or both")
    if model_repo and not dataset:
        raise UserError("--model-repo needs --dataset ORG/NAME: the data set whose leaderboard the score belongs to")
    lost = [f"--{name}" for name in ("private", "gated", "revision", "tag") if getattr(options, name)]
    if lost and not repo_id:
        raise UserError(f"{', '.join(lost)} is about the results data set: name one with --repo-id")
    pushed, model_page = [], None
    if model_repo and dataset:
        model_page = page(
            options.run, model_repo, dataset, results_repo=repo_id, revision=options.revision, variant=options.variant,
            force=options.force, dry_run=options.dry_run,
        )  # fmt: skip
    if repo_id:
        pushed.append(
            publish_run(
                options.run, repo_id, force=options.force, replace=options.replace, public=options.public, **options.how
            )
        )
    try:
        return pushed + (
            [publish_page(model_page, create_pr=not options.direct, dry_run=options.dry_run)] if model_page else []
        )
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


def publish_space(options: PublishSpaceOptions) -> Pushed:
    """Push the Space with this library: `truebench publish space` as a call. Raises UserError as the command does."""
    from truebench_hf.hub.queue import publish_space

    folder = Path(options.folder) if options.folder else Path(__file__).resolve().parents[2] / "space"
    return publish_space(folder, options.repo_id, **options.how)


def publish_metric(options: MetricOptions) -> Pushed:
    """Push one of the `evaluate` modules, with this library, to a Space: `truebench publish metric` as a call.

    Raises UserError on a repository of another name than the metric's, which `evaluate.load` would not find, and as the
    command does.
    """
    from truebench_hf.evaluate_modules import module_folder
    from truebench_hf.hub.queue import publish_space

    name, repo_id = options.name, options.repo_id
    folder = module_folder(name)
    if repo_id.rpartition("/")[2] != name:
        # evaluate looks for NAME.py in ORG/NAME.
        named = f"{repo_id.partition('/')[0]}/{name}"
        raise UserError(f"--repo-id {repo_id}: a metric loads by the name of its repository; call it {named}")
    if "." in repo_id:  # it imports what it loads by the name of the repository
        raise UserError(f"--repo-id {repo_id}: evaluate cannot load from an organisation with a dot; give another")
    return publish_space(folder, repo_id, message=f"Update {name}", **options.how)
