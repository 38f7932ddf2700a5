"""Runs into a results data set: those of its owner as they are, those of strangers as pull requests."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Unpack

from truebench_hf.benchmarks.truebench.board import KIND
from truebench_hf.data.records import JUDGMENTS
from truebench_hf.data.truebench_sets import NAMES
from truebench_hf.engine.info import read_info
from truebench_hf.errors import UserError
from truebench_hf.hub.check import check
from truebench_hf.hub.figures import stage_figures
from truebench_hf.hub.former import former
from truebench_hf.hub.mistakes import check_name, hub_errors
from truebench_hf.hub.push import How, Pushed, push_folder
from truebench_hf.hub.repository import hub_api
from truebench_hf.hub.staging import Staged, stage_file, stage_runs
from truebench_hf.hub.submission import known_data, validate
from truebench_hf.hub.whose import check_real


class AlreadyThere(UserError):
    """The run that was submitted is in the data set already."""


def publish_run(
    run: str | Path,
    repo_id: str,
    *,
    force: bool = False,
    replace: bool = False,
    public: bool = False,
    **how: Unpack[How],
) -> Pushed:
    """Add a finished run to a results data set, in one commit; a run of several models becomes one run for each.

    A run is a folder `runs/RUN_ID`, the line `index/RUN_ID.jsonl`, and the scores of its model as
    `results/MODEL/REVISION/TASK.json`. The folder of a run over instances with criteria has every judgment, and its
    scores are computed again; that of a study of another kind has its figures. The same run gives the same id, so that
    publishing it again changes nothing. Paths, server addresses and keys are taken out. Raises UserError where the run
    does not hold together, is one of a scripted model without `force`, stands there already by another run, which it
    may `replace`, or the Hub refuses; and where prompts and answers of no known benchmark would be seen by all, unless
    they are to be `public`.
    """
    check_name(repo_id)
    if public and how.get("private"):
        raise UserError("--public and --private: say one of the two")
    with tempfile.TemporaryDirectory() as folder:
        run_ids = _stage(Path(run), Path(folder))
        check_real(run, force)
        if faults := check(Path(folder), again=False).faults:
            raise UserError(
                f"{run}: {faults[0]}; nothing was pushed; results whose models share a name and revision go apart: publish "
                "one run for each"
                if "stands twice" in faults[0]
                else f"{run}: {faults[0]}; nothing was pushed"
            )
        texts = _own_texts(Path(run), Path(folder))
        if texts and not (public or how.get("private") or how.get("dry_run")):
            raise UserError(
                f"{run}: its data is no known benchmark, and {', '.join(texts)} holds every prompt and answer; add "
                "--private for a private data set, or --public where everybody may read them"
            )
        old: tuple[str, ...] = ()
        if not how.get("dry_run"):
            old = former(Path(folder), repo_id, how.get("revision"), replace=replace)
        _add_card(Path(folder), repo_id, how.get("dry_run", False), how.get("revision"))
        pushed = push_folder(
            Path(folder), repo_id, "dataset", message=f"Add run {' and '.join(run_ids)}", replace=old, **how
        )
        return dataclasses.replace(pushed, texts=texts)


def _own_texts(run: Path, staged: Path) -> tuple[str, ...]:
    """The staged files with prompts and answers, where these are not of a release of TRUEBench, or a part of one."""
    settings = read_info(run).get("settings", {})
    hashes = (settings.get(name) for name in ("data_sha256", "selection_sha256"))
    if (settings.get("data") in NAMES or any(map(known_data, map(str, hashes)))) and not settings.get("criteria"):
        return ()
    return tuple(file.relative_to(staged).as_posix() for file in sorted(staged.rglob(JUDGMENTS)))


def _stage(run: Path, out: Path) -> list[str]:
    info = read_info(run)
    if info.get("kind", KIND) in ("", KIND):
        return [staged.run_id for staged in stage_runs(run, out)]
    return [stage_figures(run, out)]


def submit(judgments: str | Path, repo_id: str, *, dry_run: bool = False) -> Pushed:
    """Queue a submitted `judgments.jsonl` as a pull request to a results data set; it must pass `validate` first.

    A file that waits already is not queued twice: then `Pushed.new` is False and `url` that of the waiting request.
    Raises AlreadyThere, a UserError, for a file whose run is in the data set.
    """
    check_name(repo_id)
    checked = validate(judgments)
    with tempfile.TemporaryDirectory() as folder:
        staged = stage_file(Path(judgments), checked, Path(folder))
        if not dry_run:
            with hub_errors(repo_id):
                if hub_api().file_exists(repo_id, f"index/{staged.run_id}.jsonl", repo_type="dataset"):
                    raise AlreadyThere(f"{staged.run_id} is already in {repo_id}")
        return push_folder(
            Path(folder), repo_id, "dataset",
            create_pr=True, dry_run=dry_run, message=f"Submission: {staged.run_id}", description=describe(staged),
            create=False,
        )  # fmt: skip


def describe(staged: Staged) -> str:
    """What the person who decides on a submission should know, as Markdown: what is claimed, and what was computed."""
    checked, claimed = staged.submission, {name: staged.index[name.lower()] for name in ("Model", "Judge")}
    return "\n".join(
        [
            "**Claimed by the submitter, and checked by nobody:** that this model gave these answers and this judge "
            "these verdicts.\n",
            *(f"- {name}: {_code(text)}" for name, text in claimed.items()),
            "\n**Computed again from the verdicts in the file:**\n",
            *(f"- {name}: {text}" for name, text in checked.computed.items() if text),
            *(["\n**Notes**\n", *(f"- {note}" for note in checked.notes)] if checked.notes else []),
        ]
    )


def _code(text: str) -> str:
    """A stranger's text as code, so that it can hold no link, image or mention."""
    return f"`{' '.join(text.replace('`', ' ').split())[:200]}`"


def _add_card(folder: Path, repo_id: str, dry_run: bool, revision: str | None) -> None:
    """A card for a data set that has none; one that somebody has edited stays as it is."""
    if not dry_run:
        with hub_errors(repo_id):
            places = {revision, None}  # a branch that is yet to be made starts as main
            if any(hub_api().file_exists(repo_id, "README.md", repo_type="dataset", revision=r) for r in places):
                return
    card = Path(__file__).with_name("results_card.md").read_text("utf-8")
    (folder / "README.md").write_text(card.replace("THIS_REPOSITORY", repo_id), encoding="utf-8")
