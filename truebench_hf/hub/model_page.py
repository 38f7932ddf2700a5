"""A run's scores on the page of its model: an `.eval_results` file in the model's repository."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from truebench_hf.benchmarks.truebench.board import one_model
from truebench_hf.errors import UserError
from truebench_hf.hub.layout import ALL, PARTS, RUNS, scores_by_task, task_of
from truebench_hf.hub.push import Pushed, check_name, hub_api, hub_errors, name_and_revision, push_folder
from truebench_hf.hub.results import check_real, model_of_page
from truebench_hf.hub.staging import Staged, stage_run
from truebench_hf.report.sections import percent
from truebench_hf.results.folder import Results
from truebench_hf.study.notes import providers
from truebench_hf.text import anonymous

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry


@dataclass(frozen=True, slots=True)
class ModelPage:
    """What goes onto a model's page: the repository, the file's path in it, and its content."""

    model_repo: str
    path: str
    content: str


def page(
    run: str | Path,
    model_repo: str,
    dataset: str,
    *,
    results_repo: str | None = None,
    revision: str | None = None,
    variant: str = "",
    force: bool = False,
    dry_run: bool = False,
) -> ModelPage:
    """Make `.eval_results/truebench.yaml` for a run, and find all that can be wrong with it; nothing is pushed.

    `variant` (for example another judge) makes it `truebench-VARIANT.yaml`: one variant is one file. So does the part of
    the release that the run is over. `results_repo` is where the run itself goes, on the branch `revision`. Raises
    UserError on bad names, on what `entries` finds, on the run of another model without `force`, and, without `dry_run`,
    where the model's repository is not there.
    """
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml

    check_name(model_repo, "--model-repo")
    if variant and not variant.replace("-", "").replace("_", "").isalnum():
        raise UserError(f"--variant {variant}: use letters, digits, - and _")
    has_models = isinstance(Results.open(run).settings.get("model"), list)
    model = model_of_page(run, model_repo, force) if has_models else None
    page_entries = entries(run, dataset, results_repo, revision, force=force, model=model)
    check_real(run, force)
    if not has_models:
        model_of_page(run, model_repo, force)
    if not dry_run:
        with hub_errors(model_repo):
            hub_api().repo_info(model_repo)
            more = _known_to_the_hub(results_repo, page_entries[0])
        page_entries = [replace(entry, **more) for entry in page_entries]
    part = page_entries[0].task_id if page_entries[0].task_id != ALL else ""
    name = "-".join(filter(None, ("truebench", part, variant)))
    content = yaml.safe_dump(eval_result_entries_to_yaml(page_entries), sort_keys=False, allow_unicode=True)
    return ModelPage(model_repo, f".eval_results/{name}.yaml", content)


def _known_to_the_hub(results_repo: str | None, entry: EvalResultEntry) -> dict[str, Any]:
    """Whose results they are, where that is oneself or one's organisation, and the commit of the benchmark's data set that
    a branch or tag stands for, as the Hub wants it; as told where the Hub does not know it."""
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    more: dict[str, Any] = {}
    if results_repo:
        owner, me = results_repo.partition("/")[0], hub_api().whoami()
        if owner in [org.get("name") for org in me.get("orgs") or ()]:
            more["source_org"] = owner
        elif owner == me.get("name"):
            more["source_user"] = owner
    if entry.dataset_revision is not None:
        with suppress(RepositoryNotFoundError, RevisionNotFoundError):
            commit = hub_api().dataset_info(entry.dataset_id, revision=entry.dataset_revision).sha
            more["dataset_revision"] = commit
    return more


def publish_page(result_page: ModelPage, *, create_pr: bool = True, dry_run: bool = False) -> Pushed:
    """Write the file into the model's repository, as a pull request unless told otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, result_page.path)
        file.parent.mkdir()
        file.write_text(result_page.content, encoding="utf-8")
        how: Any = {"create_pr": create_pr, "dry_run": dry_run, "create": False}
        return push_folder(Path(folder), result_page.model_repo, "model", message="Add TRUEBench results", **how)


def entries(
    run: str | Path, dataset: str, results_repo: str | None = None, revision: str | None = None, *, force: bool = False,
    model: str | None = None,
) -> list[EvalResultEntry]:  # fmt: skip
    """The run's pass rates as entries for a model page, by the tasks of the benchmark: the data set `ORG/NAME[@REVISION]`.

    A run over a whole release has one for each task, one over a language or a category that of this task. Of a run of
    several models they are those of the `model` named. Raises UserError for a run over anything else, whose score must
    not stand beside those of others, and, without `force`, for one over another data set on the Hub.
    """
    from huggingface_hub import EvalResultEntry, constants

    name, wanted = name_and_revision(dataset, "--dataset")
    with tempfile.TemporaryDirectory() as folder:
        staged = stage_run(Path(run), Path(folder), model)
    info = Results.open(run).info
    info = one_model(info, model) if model else info
    settings = info["settings"]
    release, task = _part(run, staged, settings)
    if not force:
        _same_data(run, str(settings.get("data")), name, wanted)
    scores = scores_by_task(task, staged.checked.report)
    if task not in scores:
        raise UserError(f"{run}: no instance is scored; there is nothing to publish")
    samples = f"; mean of {settings['samples']} samples" if settings.get("samples", 1) > 1 else ""
    by = providers(settings, info.get("served") or {}).get(str(settings.get("model")))
    run_by = f"; run by {by}" if by else ""
    # What tells this variant from others: judge, level and data.
    level, rule = settings.get("judging", {}).get("level"), settings.get("protocol")
    judge = anonymous.name(staged.checked.judge) + (f" at {level} level" if level else "")
    how = (
        f"pass rate in percent{' by the official rule' if rule == 'official' else ''}; judge {judge}; data {release} "
        f"(SHA-256 {settings['data_sha256'][:12]}){samples}{run_by}"
    )
    source = {"date": (info.get("sessions") or [{}])[-1].get("finished"), "dataset_revision": wanted or None}
    if results_repo:  # where the run with all its judgments is
        tree = f"{constants.ENDPOINT}/datasets/{results_repo}/tree/{quote(revision or 'main', safe='')}"
        source |= {"source_url": f"{tree}/{RUNS}/{staged.run_id}", "source_name": "Run with all judgments"}
    page_entries = []
    for name_of_task, score in scores.items():
        low, high = score.ci95 or (0.0, 0.0)
        unscored = f", {score.unscored} unscored" if score.unscored else ""
        notes = f"{how}; n={score.n}{unscored}; 95% CI {percent(low, 1)} to {percent(high, 1)}"
        points = round(100 * (score.value or 0.0), 2)
        page_entries.append(EvalResultEntry(dataset_id=name, task_id=name_of_task, value=points, notes=notes, **source))
    return page_entries


def _part(run: str | Path, staged: Staged, settings: Mapping[str, Any]) -> tuple[str, str]:
    """(release, task) that the run is over, by the hash of its data, which `stage_run` held against the judgments."""
    release_and_task = task_of(staged.checked.data_sha256)
    if release_and_task is not None:
        return release_and_task
    parts = ", ".join(f"--{name}" for name in ("limit", "language", "category") if settings.get(name))
    known = staged.checked.data == "mini"
    what = "over mini" if known else f"with {parts}" if parts else "over data that is no known release"
    raise UserError(
        f"{run}: was run {what}; a model page takes a run over the whole of a known release, one of its languages or one "
        f"of its categories: {', '.join(PARTS)}"
    )


def _same_data(run: str | Path, data: str, name: str, revision: str) -> None:
    """Raise UserError for a run over another data set on the Hub; a file is none, though its path may look like one."""
    own, _, own_revision = data.partition("@")
    on_the_hub = own.count("/") == 1 and not own.endswith((".jsonl", ".json")) and not Path(data).expanduser().exists()
    if on_the_hub and (own != name or (revision and own_revision and revision != own_revision)):
        wanted = f"{name}@{revision}" if revision else name
        raise UserError(
            f"--dataset {wanted}: {run} was run over {data}; publish it under that data set, or "
            "add --force if that is a folder with the same"
        )
