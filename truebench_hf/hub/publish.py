"""A finished run onto the Hub: into a results data set, and as `.eval_results` file onto the page of its model."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.truebench.results import KIND, models_of, one_model
from truebench_hf.errors import UserError
from truebench_hf.hub.layout import ALL, PARTS, RUNS, scores_by_task, task_of
from truebench_hf.hub.push import (
    HubOptions,
    Pushed,
    ResultsOptions,
    check_name,
    hub_api,
    hub_errors,
    name_and_revision,
    push_folder,
)
from truebench_hf.hub.results import check_real, publish_run
from truebench_hf.hub.staging import Staged, stage_run
from truebench_hf.models.loading import EMBEDDED
from truebench_hf.models.providers import unpinned
from truebench_hf.models.spec import without_kind
from truebench_hf.report.sections import percent
from truebench_hf.results.folder import Results
from truebench_hf.study.notes import identities, providers
from truebench_hf.text import anonymous

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

_MESSAGE = "Add TRUEBench results"


def publish_results(options: ResultsOptions) -> list[Pushed]:
    """A finished run into a results data set, and onto the page of its model: `truebench publish results` as a call.

    The page of the model gets the pass rates by pull request, as results on the benchmark's data set. What
    is pushed, in this order. Raises UserError where the run does not hold together or is not that model's, without
    `force` also for a scripted one, and where the data set has other scores of what was measured, which it may
    `replace`. Prompts and answers of no known benchmark want `private` or `public`. All this is checked before anything
    is pushed.
    """
    if not options.repo_id and not options.model_repo:
        raise UserError("say where to: --repo-id ORG/RESULTS, --model-repo ORG/MODEL, or both")
    for name in ("private", "public", "replace"):
        if getattr(options, name) and not options.repo_id:
            raise UserError(f"--{name} is about the results data set: name one with --repo-id")
    if options.dataset and not options.model_repo:
        raise UserError("--dataset is about the page of a model: name one with --model-repo")
    results_page = page(options) if options.model_repo else {}
    pushed = [publish_run(options)] if options.repo_id else []
    try:
        return pushed + [_publish_page(options, *file) for file in results_page.items()]
    except UserError as error:
        raise UserError(f"{error} (the run itself is in {options.repo_id})" if pushed else str(error)) from error


def page(options: ResultsOptions) -> dict[str, str]:
    """Make `.eval_results/truebench.yaml`, the content by the path: the run's pass rates; nothing is pushed.

    A run over a whole release has an entry for each task of the benchmark, one over a language or a category that of this
    task, whose name stands in that of the file. Raises UserError on all that can be wrong with it: bad names, a run over
    anything else, whose score must not stand beside those of others, the run of another model without `force`, and,
    without `dry_run`, where the model's repository is not there.
    """
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml

    model_repo = str(options.model_repo)
    if not options.dataset:
        raise UserError("--model-repo needs --dataset ORG/NAME: the data set whose leaderboard the score belongs to")
    dataset, revision = name_and_revision(options.dataset, "--dataset")
    check_name(model_repo, "--model-repo")
    page_entries = _entries(options, dataset, revision)
    check_real(options.run, options.force)
    if not options.dry_run:
        with hub_errors(model_repo):
            hub_api().repo_info(model_repo)
    part = page_entries[0].task_id
    name = "truebench" if part == ALL else f"truebench-{part}"
    content = yaml.safe_dump(eval_result_entries_to_yaml(page_entries), sort_keys=False, allow_unicode=True)
    return {f".eval_results/{name}.yaml": content}


def _entries(options: ResultsOptions, dataset: str, revision: str) -> list[EvalResultEntry]:
    """The pass rates of the model of a run, of several that of the repository, as entries for a model page."""
    from huggingface_hub import EvalResultEntry, constants

    run, results = options.run, Results.open(options.run)
    if results.kind not in ("", KIND):
        raise UserError(
            f"{run}: is a study of kind {results.kind}, and the tasks of a model page are those of {KIND}; its figures go "
            "into a results data set, with --repo-id ORG/RESULTS"
        )
    model = model_of_page(run, str(options.model_repo), options.force)
    is_one_of = isinstance(results.settings.get("model"), list)
    info = one_model(results.info, model) if is_one_of else results.info
    with tempfile.TemporaryDirectory() as folder:
        staged = stage_run(Path(run), Path(folder), model if is_one_of else None)
    settings = info["settings"]
    release, task = _part(run, staged, settings)
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
    source = {"date": (info.get("sessions") or [{}])[-1].get("finished"), "dataset_revision": revision or None}
    if options.repo_id:  # where the run with all its judgments is
        tree = f"{constants.ENDPOINT}/datasets/{options.repo_id}/tree/main"
        source |= {"source_url": f"{tree}/{RUNS}/{staged.run_id}", "source_name": "Run with all judgments"}
    page_entries = []
    for name_of_task, score in scores.items():
        low, high = score.ci95 or (0.0, 0.0)
        unscored = f", {score.unscored} unscored" if score.unscored else ""
        notes = f"{how}; n={score.n}{unscored}; 95% CI {percent(low, 1)} to {percent(high, 1)}"
        points = round(100 * (score.value or 0.0), 2)
        page_entries.append(EvalResultEntry(dataset, name_of_task, points, notes=notes, **source))
    return page_entries


def model_of_page(run: str | Path, model_repo: str, force: bool) -> str:
    """The model of a run that the repository `ORG/MODEL` is of, of several the one; forced a lone model may be another.

    Raises UserError where there is none.
    """
    settings = Results.open(run).settings
    models = models_of(settings) if "model" in settings else [""]
    known = identities(settings)
    specs = {name: unpinned(name, str(known.get(name, ("", {}))[1].get("provider"))) for name in models}
    matching = [name for name, spec in specs.items() if _is_of(spec, model_repo)]
    if len(matching) == 1:
        return matching[0]
    if force and len(models) == 1:
        return models[0]
    remedy = ", or add --force if they are the same" if len(models) == 1 else ""
    raise UserError(
        f"--model-repo {model_repo}: {run} is a run of {', '.join(specs.values())}; name the repository of "
        f"{'that model' if len(models) == 1 else 'one of them'}{remedy}"
    )


def _is_of(spec: str, model_repo: str) -> bool:
    """Whether a spec names the model of a repository: by name and organisation, or by name where no other is told."""
    name = without_kind(EMBEDDED if spec == "smollm2" else spec).partition("@")[0].rstrip("/").casefold()
    organisation, own = model_repo.casefold().split("/")
    *before, last = name.split("/")
    on_the_hub = len(before) == 1 and before[0] not in (".", "..", "~")  # else it is a folder, or a name alone
    return last == own and (not on_the_hub or before[0] == organisation)


def _publish_page(options: ResultsOptions, path: str, content: str) -> Pushed:
    """Propose the file to the model's repository by a pull request, unless one with the same content waits there."""
    repo_id = str(options.model_repo)
    waiting = None if options.dry_run else _waiting(repo_id, path, content)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, path)
        file.parent.mkdir()
        file.write_text(content, encoding="utf-8")
        how = HubOptions(create_pr=True, dry_run=options.dry_run)
        return push_folder(Path(folder), repo_id, "model", how, message=_MESSAGE, create=False, waiting=waiting)


def _waiting(repo_id: str, path: str, content: str) -> str | None:
    """The address of the open pull request of ours in which the file has this content; None where there is none."""
    api = hub_api()
    with hub_errors(repo_id):
        for pull in api.get_repo_discussions(repo_id, discussion_type="pull_request"):
            where: Any = {"repo_id": repo_id, "filename": path, "revision": f"refs/pr/{pull.num}"}
            is_ours = pull.status == "open" and pull.title.startswith(_MESSAGE) and api.file_exists(**where)
            if is_ours and Path(api.hf_hub_download(**where)).read_text("utf-8") == content:
                return pull.url
    return None


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
