"""Publishing results: runs into a results data set, and a run's score onto a model's page."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truebench_hf.engine.folder import read_info
from truebench_hf.errors import UserError
from truebench_hf.hub.push import Pushed, hub_errors, push_folder
from truebench_hf.hub.staging import CARD, stage_file, stage_run
from truebench_hf.hub.submission import validate
from truebench_hf.types import Instance, Score

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FRAMEWORK = "truebench-hf"
# The id of the task in the benchmark data set's eval.yaml.
TASK = "all"


def publish_run(
    run: str | Path, repo_id: str, *, private: bool = False, create_pr: bool = False, dry_run: bool = False
) -> Pushed:
    """Add a finished run to a results data set: a folder `runs/RUN_ID` and the line `index/RUN_ID.jsonl`, one commit.

    The same run gives the same id, so that publishing it again changes nothing. Paths, server addresses and keys are
    taken out of its settings. Raises UserError where the run does not hold together or the Hub refuses.
    """
    with tempfile.TemporaryDirectory() as folder:
        staged = stage_run(Path(run), Path(folder))
        _add_card(Path(folder), repo_id, dry_run)
        message = f"Add run {staged.run_id}"
        return push_folder(
            Path(folder), repo_id, "dataset", private=private, create_pr=create_pr, dry_run=dry_run, message=message
        )


def submit(
    judgments: str | Path, repo_id: str, *, reference: Sequence[Instance] | None = None, dry_run: bool = False
) -> Pushed:
    """Queue a submitted `judgments.jsonl` as a pull request to a results data set; it must pass `validate` first."""
    checked = validate(judgments, reference=reference)
    with tempfile.TemporaryDirectory() as folder:
        staged = stage_file(Path(judgments), checked, Path(folder))
        message = f"Submission: {staged.run_id}"
        return push_folder(
            Path(folder), repo_id, "dataset", create_pr=True, dry_run=dry_run, message=message, create=False
        )


def entry(run: str | Path, dataset: str, results_repo: str | None = None) -> EvalResultEntry:
    """The run's pass rate as an entry for a model page. `dataset` is the benchmark's data set, `ORG/NAME[@REVISION]`.

    Raises UserError for a run over a part of the data: its score must not stand beside those of whole runs.
    """
    from huggingface_hub import EvalResultEntry, constants

    with tempfile.TemporaryDirectory() as folder:
        staged = stage_run(Path(run), Path(folder))
    info = read_info(Path(run))
    settings = info.get("settings", {})
    if part := [f"--{name}" for name in ("limit", "language", "category") if settings.get(name)]:
        raise UserError(f"{run}: was run with {', '.join(part)}; a model page takes a run over the whole data only")
    overall = staged.submission.report.scores["overall"]
    assert isinstance(overall, Score)
    if overall.value is None:
        raise UserError(f"{run}: no instance is scored; there is nothing to publish")
    name, _, revision = dataset.partition("@")
    sessions = info.get("sessions") or [{}]
    url = f"{constants.ENDPOINT}/datasets/{results_repo}/tree/main/runs/{staged.run_id}" if results_repo else None
    return EvalResultEntry(
        dataset_id=name,
        task_id=TASK,
        value=round(overall.value, 2),
        dataset_revision=revision or None,
        date=sessions[-1].get("finished"),
        source_url=url,
        source_name="Run with all judgments" if url else None,
        notes=_notes(staged.index, overall),
    )


def publish_entry(
    run: str | Path,
    model_repo: str,
    dataset: str,
    *,
    results_repo: str | None = None,
    variant: str = "",
    create_pr: bool = True,
    dry_run: bool = False,
) -> Pushed:
    """Write `.eval_results/truebench.yaml` into a model repository, as a pull request unless told otherwise.

    `variant` (for example another judge) makes it `truebench-VARIANT.yaml`: one variant is one file.
    """
    if variant and not variant.replace("-", "").replace("_", "").isalnum():
        raise UserError(f"--variant {variant}: use letters, digits, - and _")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / ".eval_results" / f"truebench{'-' + variant if variant else ''}.yaml"
        file.parent.mkdir()
        file.write_text(entry_yaml(entry(run, dataset, results_repo)), encoding="utf-8")
        message = "Add TRUEBench results"
        return push_folder(
            Path(folder), model_repo, "model", create_pr=create_pr, dry_run=dry_run, message=message, create=False
        )


def entry_yaml(item: EvalResultEntry) -> str:
    """The content of an `.eval_results` file with one entry."""
    import yaml  # type: ignore[import-untyped]
    from huggingface_hub import eval_result_entries_to_yaml

    rows = [row | {"evaluation_framework": FRAMEWORK} for row in eval_result_entries_to_yaml([item])]
    return str(yaml.safe_dump(rows, sort_keys=False, allow_unicode=True))


def read_index(folder: str | Path) -> list[dict[str, Any]]:
    """The lines of the index of a downloaded results data set, newest first. Raises UserError on an unreadable one."""
    rows = []
    for file in sorted((Path(folder) / "index").glob("*.jsonl")):
        try:
            rows.append(json.loads(file.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise UserError(f"index/{file.name}: cannot be read: {error}") from error
    return sorted(rows, key=lambda row: str(row.get("finished") or ""), reverse=True)


def _add_card(folder: Path, repo_id: str, dry_run: bool) -> None:
    """A card for a data set that has none; one that somebody has edited stays as it is."""
    from huggingface_hub import HfApi

    if not dry_run:
        with hub_errors(repo_id):
            if HfApi().file_exists(repo_id, "README.md", repo_type="dataset"):
                return
    (folder / "README.md").write_text(CARD.replace("THIS_REPOSITORY", repo_id), encoding="utf-8")


def _notes(index: Any, overall: Score) -> str:
    """What tells this variant from others: judge, level, and how much is behind the number."""
    low, high = overall.ci95 or (0.0, 0.0)
    level = f" at {index['judge_level']} level" if index["judge_level"] else ""
    unscored = f", {overall.unscored} unscored" if overall.unscored else ""
    return (
        f"pass rate in percent; judge {index['judge']}{level}; n={overall.n}{unscored}; 95% CI {low:.1f} to {high:.1f}"
    )
