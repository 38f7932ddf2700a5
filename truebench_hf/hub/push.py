"""Push a folder to the Hub as one commit: a data set, a Space, a metric or a model's files."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from truebench_hf import __version__
from truebench_hf.errors import UserError
from truebench_hf.hub.mistakes import check_name, hub_errors
from truebench_hf.redaction import holds_secret, learn

if TYPE_CHECKING:
    from huggingface_hub import HfApi

RepoType = Literal["model", "dataset", "space"]
# Left behind by tools, or private: never part of what is published.
SKIPPED = frozenset({".git", ".cache", "__pycache__", ".DS_Store", ".ipynb_checkpoints", ".gradio", ".env", ".venv"})


class How(TypedDict, total=False):
    """How something goes to the Hub: into a `private` repository, as a pull request, or not at all, to see what would.

    `push_folder`, to which it is handed on, refuses other words.
    """

    private: bool
    create_pr: bool
    dry_run: bool


class AlreadyThere(UserError):
    """What was to be proposed is in the repository already."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """What was pushed, or with `dry_run` would be: path -> size in bytes, SHA-256 of it all, and where it went."""

    repo_id: str
    repo_type: RepoType
    files: dict[str, int]
    sha256: str
    message: str
    dry_run: bool
    url: str | None = None  # of the commit, or of the pull request
    new: bool = True  # False: the same contents wait at `url` already, as an open pull request


def push_folder(
    folder: Path,
    repo_id: str,
    repo_type: RepoType,
    *,
    message: str = "Upload",
    description: str = "",
    replace: Sequence[str] = (),
    create: bool = True,
    private: bool = False,
    create_pr: bool = False,
    dry_run: bool = False,
) -> Pushed:
    """Push every file below `folder` in a single commit, so that a failure leaves the remote as it was.

    `replace` are patterns of remote files that go in the same commit unless the folder has them. `create` makes the
    repository if need be. The commit message gets the version and the hash of the contents; `description` (Markdown) is
    the text of a pull request. One whose contents wait already is not opened twice. The token is the one that
    `hf auth login` or HF_TOKEN gave; it appears in no message. Raises UserError where the user can mend it (a file that
    holds a known secret among others), AlreadyThere where a pull request would change nothing.
    """
    check_name(repo_id)
    files = _files(folder)
    _check_secrets(files)
    content = content_hash(folder, files)
    mark = f"sha256 {content[:12]})"
    title = f"{message} (truebench-hf {__version__}, {mark}"
    sizes = {name: path.stat().st_size for name, path in files.items()}
    if dry_run:
        return Pushed(repo_id, repo_type, sizes, content, title, True)
    with hub_errors(repo_id):
        if create:
            _create(repo_id, repo_type, private)
        if create_pr and (waiting := _waiting(repo_id, repo_type, mark)):
            return Pushed(repo_id, repo_type, sizes, content, title, False, waiting, new=False)
        url = _commit(files, repo_id, repo_type, create_pr, title, description, replace)
    return Pushed(repo_id, repo_type, sizes, content, title, False, url)


def hub_api() -> HfApi:
    """The Hub's client under our name."""
    from huggingface_hub import HfApi

    return HfApi(library_name="truebench-hf", library_version=__version__)


def _create(repo_id: str, repo_type: RepoType, private: bool) -> None:
    api, sdk = hub_api(), "gradio" if repo_type == "space" else None
    api.create_repo(repo_id, repo_type=repo_type, private=private or None, exist_ok=True, space_sdk=sdk)
    if private and not api.repo_info(repo_id, repo_type=repo_type).private:
        # exist_ok accepts a public repository of that name, and never changes its visibility.
        raise UserError(f"{repo_id} exists and is public, but --private was asked for; nothing was pushed")


def _waiting(repo_id: str, repo_type: RepoType, mark: str) -> str | None:
    """Where an open pull request is whose title ends with the mark of these contents."""
    found = hub_api().get_repo_discussions(
        repo_id, repo_type=repo_type, discussion_type="pull_request", discussion_status="open"
    )
    return next((str(pull.url) for pull in found if pull.status == "open" and pull.title.endswith(mark)), None)


def _commit(
    files: dict[str, Path],
    repo_id: str,
    repo_type: RepoType,
    create_pr: bool,
    title: str,
    description: str,
    replace: Sequence[str],
) -> str:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    api = hub_api()
    operations: list[Any] = [CommitOperationAdd(name, str(path)) for name, path in files.items()]
    if replace:
        present = api.list_repo_files(repo_id, repo_type=repo_type)
        stale = [n for n in present if n not in files and any(fnmatch.fnmatch(n, pattern) for pattern in replace)]
        operations += [CommitOperationDelete(name) for name in stale]
    # Not upload_folder: with xet it makes several commits, and one that fails half-way would leave a mixed state.
    done = api.create_commit(
        repo_id,
        operations,
        commit_message=title,
        commit_description=description,
        repo_type=repo_type,
        create_pr=create_pr or None,
    )
    if create_pr and done.pr_url is None:
        # The client makes no empty commit, and answers with the last one there is.
        raise AlreadyThere(f"{repo_id}: all of this is already in it; no pull request was opened")
    return str(done.pr_url or done.commit_url)


def content_hash(folder: Path, files: dict[str, Path] | None = None) -> str:
    """SHA-256 over the paths and contents of a folder's files; the same folder gives the same hash anywhere."""
    whole = hashlib.sha256()
    for name, path in (files or _files(folder)).items():
        whole.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()


def _check_secrets(files: dict[str, Path]) -> None:
    """Raise UserError where a file holds a key or login that this process knows: once on the Hub it is everybody's."""
    from huggingface_hub import get_token

    learn(get_token())
    for name, path in files.items():
        if holds_secret(path.read_bytes()):
            raise UserError(f"{name} holds a key or a login of yours; take it out: nothing was pushed")


def _files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    below = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    files = {name.as_posix(): path for name, path in below.items() if SKIPPED.isdisjoint(name.parts)}
    if not files:
        raise UserError(f"{folder}: holds no files to push")
    return files
