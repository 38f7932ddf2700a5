"""A run's score on the page of its model: an `.eval_results` file in the model's repository."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.benchmarks.truebench.data import RELEASES
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError
from truebench_hf.hub.mistakes import check_name, hub_errors, name_and_revision
from truebench_hf.hub.push import Pushed, hub_api, push_folder
from truebench_hf.hub.staging import Staged, stage_run
from truebench_hf.types import Score

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FRAMEWORK = "truebench-hf"
# The id of the task in the benchmark data set's eval.yaml.
TASK = "all"


@dataclass(frozen=True, slots=True)
class Page:
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
    variant: str = "",
    dry_run: bool = False,
) -> Page:
    """Make `.eval_results/truebench.yaml` for a run, and find all that can be wrong with it; nothing is pushed.

    `variant` (for example another judge) makes it `truebench-VARIANT.yaml`: one variant is one file. Raises UserError on
    bad names, on what `entry` finds, and, without `dry_run`, where the model's repository is not there.
    """
    check_name(model_repo, "--model-repo")
    if variant and not variant.replace("-", "").replace("_", "").isalnum():
        raise UserError(f"--variant {variant}: use letters, digits, - and _")
    content = entry_yaml(entry(run, dataset, results_repo))
    if not dry_run:
        with hub_errors(model_repo):
            hub_api().repo_info(model_repo)
    return Page(model_repo, f".eval_results/truebench{'-' + variant if variant else ''}.yaml", content)


def publish_page(made: Page, *, create_pr: bool = True, dry_run: bool = False) -> Pushed:
    """Write the file into the model's repository, as a pull request unless told otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, made.path)
        file.parent.mkdir()
        file.write_text(made.content, encoding="utf-8")
        message = "Add TRUEBench results"
        return push_folder(
            Path(folder), made.model_repo, "model", create_pr=create_pr, dry_run=dry_run, message=message, create=False
        )


def entry(run: str | Path, dataset: str, results_repo: str | None = None) -> EvalResultEntry:
    """The run's pass rate as an entry for a model page. `dataset` is the benchmark's data set, `ORG/NAME[@REVISION]`.

    Raises UserError for a run over anything but the whole of a known release, whose score must not stand beside those
    of others, and for one over another data set on the Hub.
    """
    from huggingface_hub import EvalResultEntry, constants

    name, revision = name_and_revision(dataset, "--dataset")
    with tempfile.TemporaryDirectory() as folder:
        staged = stage_run(Path(run), Path(folder))
    info = read_info(Path(run))
    settings = info["settings"]
    release = _release(run, staged, settings)
    _same_data(run, str(settings.get("data")), name, revision)
    overall = staged.submission.report.scores["overall"]
    assert isinstance(overall, Score)
    if overall.value is None:
        raise UserError(f"{run}: no instance is scored; there is nothing to publish")
    sessions = info.get("sessions") or [{}]
    url = f"{constants.ENDPOINT}/datasets/{results_repo}/tree/main/runs/{staged.run_id}" if results_repo else None
    return EvalResultEntry(
        dataset_id=name,
        task_id=TASK,
        value=round(100 * overall.value, 2),
        dataset_revision=revision or None,
        date=sessions[-1].get("finished"),
        source_url=url,
        source_name="Run with all judgments" if url else None,
        notes=_notes(staged.index, overall, f"data {release} (SHA-256 {settings['data_sha256'][:12]})"),
    )


def entry_yaml(item: EvalResultEntry) -> str:
    """The content of an `.eval_results` file with one entry."""
    import yaml
    from huggingface_hub import eval_result_entries_to_yaml

    rows = [row | {"evaluation_framework": FRAMEWORK} for row in eval_result_entries_to_yaml([item])]
    return str(yaml.safe_dump(rows, sort_keys=False, allow_unicode=True))


def _release(run: str | Path, staged: Staged, settings: Mapping[str, Any]) -> str:
    """The release that the run is over, by the hash of its data, which `stage_run` held against the judgments."""
    known = staged.submission.data
    if known in RELEASES:
        return known
    parts = ", ".join(f"--{name}" for name in ("limit", "language", "category") if settings.get(name))
    what = "over mini" if known == "mini" else f"with {parts}" if parts else "over data that is no known release"
    raise UserError(
        f"{run}: was run {what}; a model page takes a run over the whole of a known release only: {', '.join(RELEASES)}"
    )


def _same_data(run: str | Path, data: str, name: str, revision: str) -> None:
    """A run over a data set on the Hub is published under this one. A path has the same form, but a file's ending."""
    own, _, own_revision = data.partition("@")
    try:
        check_name(own)
    except UserError:
        return
    if own.endswith((".jsonl", ".json")):
        return
    if own != name or (revision and own_revision and revision != own_revision):
        wanted = f"{name}@{revision}" if revision else name
        raise UserError(f"--dataset {wanted}: {run} was run over {data}; publish it under that data set")


def _notes(index: Mapping[str, Any], overall: Score, data: str) -> str:
    """What tells this variant from others: judge, level, data, and how much is behind the number."""
    low, high = overall.ci95 or (0.0, 0.0)
    level = f" at {index['judge_level']} level" if index["judge_level"] else ""
    rule = " by the official rule" if index["protocol"] == "official" else ""
    unscored = f", {overall.unscored} unscored" if overall.unscored else ""
    return (
        f"pass rate in percent{rule}; judge {index['judge']}{level}; {data}; n={overall.n}{unscored}; "
        f"95% CI {100 * low:.1f} to {100 * high:.1f}"
    )
