"""Submissions to a results data set: queued as pull requests, and what became of them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Literal

from truebench_hf.errors import UserError
from truebench_hf.hub.layout import RUNS, TABLE
from truebench_hf.hub.options import HubOptions
from truebench_hf.hub.push import Pushed, check_name, hub_api, hub_errors, push_folder
from truebench_hf.hub.staging import Staged, stage_file
from truebench_hf.hub.submission import validate
from truebench_hf.text import anonymous

State = Literal["waiting", "merged", "refused"]
_STATES: dict[str, State] = {"open": "waiting", "draft": "waiting", "merged": "merged", "closed": "refused"}
# What else is asked of the data set, as by `publish --create-pr`, is no submission.
_TITLE = re.compile(r"Submission: (([a-z0-9-]+)--([a-z0-9-]+)--[0-9a-f]{10}) \(")
_LOOKED = 300  # pull requests that are looked through, newest first


class AlreadyThere(UserError):
    """The run that was submitted is in the data set already."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A pull request with a run; model and judge as a folder's name has them."""

    num: int
    model: str
    judge: str
    state: State
    url: str
    opened: datetime
    run_id: str = ""


def submit(judgments: str | Path, repo_id: str) -> Pushed:
    """Queue a submitted `judgments.jsonl` as a pull request to a results data set; it must pass `validate` first.

    A file that waits already is not queued twice: then `Pushed.new` is False and `url` that of the waiting request.
    Raises AlreadyThere, a UserError, for a file whose run is in the data set.
    """
    check_name(repo_id)
    checked = validate(judgments)
    with tempfile.TemporaryDirectory() as folder:
        staged = stage_file(checked, Path(folder))
        with hub_errors(repo_id):
            if hub_api().file_exists(repo_id, f"{RUNS}/{staged.run_id}/{TABLE}", repo_type="dataset"):
                raise AlreadyThere(f"{staged.run_id} is already in {repo_id}")
            queue = (pull for pull in _listed(repo_id) if pull.state == "waiting")
            waiting = next((pull.url for pull in queue if pull.run_id == staged.run_id), None)
        pushed = push_folder(
            Path(folder), repo_id, "dataset", HubOptions(create_pr=True, dry_run=waiting is not None),
            message=f"Submission: {staged.run_id}", description=describe(staged), create=False,
        )  # fmt: skip
        return replace(pushed, dry_run=False, url=waiting, new=False) if waiting else pushed


def describe(staged: Staged) -> str:
    """What the person who decides on a submission should know, as Markdown: what is claimed, and what was computed."""
    checked = staged.checked
    claimed = {"Model": anonymous.name(checked.model), "Judge": anonymous.name(checked.judge)}
    return "\n".join(
        [
            "**Claimed by the submitter, and checked by nobody:** that this model gave these answers and this judge "
            "these verdicts.\n",
            # A stranger's text as code, so that it can hold no link, image or mention.
            *(f"- {name}: `{' '.join(text.replace('`', ' ').split())[:200]}`" for name, text in claimed.items()),
            "\n**Computed again from the verdicts in the file:**\n",
            *(f"- {name}: {text}" for name, text in checked.computed.items() if text),
            *(["\n**Notes**\n", *(f"- {note}" for note in checked.notes)] if checked.notes else []),
        ]
    )


def submissions(repo_id: str, most: int) -> tuple[Submitted, ...]:
    """The newest submissions to a data set, at most so many.

    Raises whatever the Hub's client raises, and waits for the Hub as long as that does: for ever.
    """
    return tuple(islice(_listed(repo_id), most))


def _listed(repo_id: str) -> Iterator[Submitted]:
    pulls = hub_api().get_repo_discussions(repo_id, repo_type="dataset", discussion_type="pull_request")
    for pull in islice(pulls, _LOOKED):
        if pull.is_pull_request and (named := _TITLE.match(pull.title)) and (state := _STATES.get(pull.status)):
            yield Submitted(pull.num, named[2], named[3], state, pull.url, pull.created_at, run_id=named[1])
