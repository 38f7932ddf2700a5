"""What is sent to the Hub as a folder (a data set, the Space, a metric), and submissions queued as pull requests."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Unpack

from truebench_hf.errors import UserError
from truebench_hf.hub.layout import RUNS, TABLE
from truebench_hf.hub.push import SKIPPED, How, Pushed, check_name, hub_api, hub_errors, push_folder
from truebench_hf.hub.staging import Staged, stage_file
from truebench_hf.hub.submission import validate
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened

State = Literal["waiting", "merged", "refused"]
_STATES: dict[str, State] = {"open": "waiting", "draft": "waiting", "merged": "merged", "closed": "refused"}
# What else is asked of the data set, as by `publish --create-pr`, is no submission.
_TITLE = re.compile(r"Submission: (([a-z0-9-]+)--([a-z0-9-]+)--[0-9a-f]{10}) \(")
_LOOKED = 300  # pull requests that are looked through, newest first
_LONGEST = 300  # characters of a reason


class AlreadyThere(UserError):
    """The run that was submitted is in the data set already."""


@dataclass(frozen=True, slots=True)
class Submitted:
    """A pull request with a run; model and judge as a folder's name has them. `reason` is that of a refusal, if one was given."""

    num: int
    model: str
    judge: str
    state: State
    url: str
    opened: datetime
    reason: str = ""
    run_id: str = ""


def submit(judgments: str | Path, repo_id: str, *, dry_run: bool = False) -> Pushed:
    """Queue a submitted `judgments.jsonl` as a pull request to a results data set; it must pass `validate` first.

    A file that waits already is not queued twice: then `Pushed.new` is False and `url` that of the waiting request.
    Raises AlreadyThere, a UserError, for a file whose run is in the data set.
    """
    check_name(repo_id)
    checked = validate(judgments)
    with tempfile.TemporaryDirectory() as folder:
        staged = stage_file(Path(judgments), checked, Path(folder))
        title, waiting = f"Submission: {staged.run_id}", None
        if not dry_run:
            with hub_errors(repo_id):
                if hub_api().file_exists(repo_id, f"{RUNS}/{staged.run_id}/{TABLE}", repo_type="dataset"):
                    raise AlreadyThere(f"{staged.run_id} is already in {repo_id}")
                queue = (pull for pull in _listed(repo_id) if pull.state == "waiting")
                waiting = next((pull.url for pull in queue if pull.run_id == staged.run_id), None)
        pushed = push_folder(
            Path(folder), repo_id, "dataset",
            create_pr=True, dry_run=dry_run or waiting is not None, message=title, description=describe(staged),
            create=False,
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


def submissions(repo_id: str, most: int, known: Sequence[Submitted] = ()) -> tuple[Submitted, ...]:
    """The newest submissions to a data set, at most so many. The Hub is not asked again for reasons that are `known`.

    Raises whatever the Hub's client raises, and waits for the Hub as long as that does: for ever.
    """
    reasons = {pull.num: pull.reason for pull in known if pull.reason}
    return tuple(
        replace(pull, reason=reasons.get(pull.num) or _reason(repo_id, pull.num)) if pull.state == "refused" else pull
        for pull in islice(_listed(repo_id), most)
    )


def _listed(repo_id: str) -> Iterator[Submitted]:
    pulls = hub_api().get_repo_discussions(repo_id, repo_type="dataset", discussion_type="pull_request")
    for pull in islice(pulls, _LOOKED):
        if pull.is_pull_request and (named := _TITLE.match(pull.title)) and (state := _STATES.get(pull.status)):
            yield Submitted(pull.num, named[2], named[3], state, pull.url, pull.created_at, run_id=named[1])


def _reason(repo_id: str, num: int) -> str:
    """The last thing that was said by whoever closed a pull request, beside its description; "" for nothing.

    Others may say what they like below a public pull request: that is no reason.
    """
    from huggingface_hub import DiscussionComment, DiscussionStatusChange

    details = hub_api().get_discussion_details(repo_id, num, repo_type="dataset")
    events: list[Any] = details.events
    closed = [
        event.author for event in events if isinstance(event, DiscussionStatusChange) and event.new_status == "closed"
    ]
    comments = [event for event in events if isinstance(event, DiscussionComment)]
    if comments and comments[0].author == details.author:
        del comments[0]  # the description
    reasons = [c.content for c in comments if closed and c.author == closed[-1] and not c.hidden and c.content.strip()]
    return shortened(reasons[-1], _LONGEST) if reasons else ""


PACKAGE = "truebench_hf"
_skipped = shutil.ignore_patterns(*SKIPPED)


def push_data(folder: Path, repo_id: str, *, rights: bool = False, **how: Unpack[How]) -> Pushed:
    """Push a folder that `export` wrote; data files of an earlier build that it lacks are removed in the same commit.

    The card that goes there has the repository's own id in its commands; the folder stays as it is. Raises UserError on
    a folder that is no build, a blind split without `private`, a licence that does not allow publishing without
    `rights`, and on what `push_folder` finds.
    """
    from truebench_hf.data.catalogue import entry
    from truebench_hf.loaders.export import manifest

    content = manifest(folder)
    what = entry(content["name"])
    # The manifest or a file's name says so: one of them may have been edited.
    listed = any("blind" in splits for splits in content["rows"].values())
    blind = listed or any(path.stem.startswith("blind") for path in folder.rglob("*.parquet"))
    if blind and not how.get("private"):
        raise UserError(f"{folder}: holds a blind split, which is never pushed in public; add --private")
    if not what.publishable and not rights:
        raise UserError(
            f"{folder}: the licence of {what.name} is that of its sources and may not allow publishing it; "
            "if you have the rights, add --i-have-the-rights"
        )
    message = f"Add {what.name} {content['version']}"
    with tempfile.TemporaryDirectory() as scratch:
        staged = _staged(folder, Path(scratch, "staged"), repo_id, content)
        return push_folder(staged, repo_id, "dataset", message=message, replace=("data/*", "eval.yaml"), **how)


def publish_space(folder: Path, repo_id: str, *, message: str = "Update the Space", **how: Unpack[How]) -> Pushed:
    """Push a Space and this library to the Hub as one commit; files of an earlier library go in the same commit.

    A metric's folder is a Space, too. Raises UserError where `folder` is no Space and on what `push_folder` finds.
    """
    with tempfile.TemporaryDirectory() as out:
        stage_space(folder, Path(out, "space"))
        card = Path(out, "space", "README.md")
        # The repository's own id where a command names it, or an example loads the metric.
        named = card.read_text("utf-8").replace("--repo-id ORG/NAME", f"--repo-id {repo_id}")
        card.write_text(re.sub(r'truebench_hf\.metric\("\w+"\)', f'"{repo_id}"', named), encoding="utf-8")
        return push_folder(Path(out, "space"), repo_id, "space", message=message, replace=(f"{PACKAGE}/*",), **how)


def stage_space(folder: Path, out: Path) -> None:
    """Copy a Space's folder to `out`, with the library as it is installed here, data set builders included.

    Not as a wheel: the Hub installs requirements.txt before the Space's other files are there, so that it cannot name
    one of them; and `python app.py` finds what lies beside it. Raises UserError where `folder` is no Space.
    """
    for name in ("app.py", "README.md", "requirements.txt"):
        if not (folder / name).is_file():
            raise UserError(
                f"{folder}: no Space there (no {name}); give the folder `space` of a checkout with --folder"
            )
    import truebench_hf.loaders

    shutil.copytree(folder, out, ignore=shutil.ignore_patterns(*SKIPPED, PACKAGE))
    # The library itself lies beside the app: what it needs stands in its place.
    requirements, name = out / "requirements.txt", PACKAGE.replace("_", "-")
    lines = requirements.read_text("utf-8").splitlines()
    others = [line for line in lines if not line.startswith(name)]
    if len(others) < len(lines):
        needed = [line for line in metadata.requires(name) or () if "extra ==" not in line]
        requirements.write_text("\n".join(sorted({*others, *needed})) + "\n", "utf-8")
    package, loaders = Path(__file__).parents[1], Path(truebench_hf.loaders.__path__[0])
    shutil.copytree(package, out / PACKAGE, ignore=_skipped)
    # In a checkout they are a folder of their own, and only the installed package has them inside.
    shutil.copytree(loaders, out / PACKAGE / "loaders", ignore=_skipped, dirs_exist_ok=True)


def _staged(folder: Path, out: Path, repo_id: str, content: Mapping[str, Any]) -> Path:
    """A copy of a built folder with the repository's id on the card, and in build.json for who pushes a clone of it."""
    from truebench_hf.data.catalogue import entry
    from truebench_hf.loaders.card import addressed
    from truebench_hf.loaders.export import MANIFEST

    shutil.copytree(folder, out, ignore=_skipped)
    card, former = out / "README.md", str(content.get("repository", ""))
    if card.is_file():
        known = former if former.count("/") == 1 else None  # anybody may have written build.json
        named = addressed(card.read_text("utf-8"), entry(content["name"]), repo_id, known)
        card.write_text(named, encoding="utf-8")
    (out / MANIFEST).write_text(json.dumps({**content, "repository": repo_id}, indent=2) + "\n", encoding="utf-8")
    return out
