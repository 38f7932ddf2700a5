"""Push a folder to the Hub as one commit: a data set, a Space, a metric or a model's files."""

from __future__ import annotations

import fnmatch
import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from truebench_hf.errors import UserError
from truebench_hf.hashing import digest
from truebench_hf.hub.mistakes import check_name, hub_errors
from truebench_hf.hub.repository import Gated, RepoType, check_place, check_tag, hub_api, open_branch, open_repo
from truebench_hf.text.redaction import known, learn
from truebench_hf.text.terminal import warn
from truebench_hf.version import __version__

# Left behind by tools, or private: never part of what is published.
SKIPPED = frozenset({".git", ".cache", "__pycache__", ".DS_Store", ".ipynb_checkpoints", ".gradio", ".env", ".venv"})


class How(TypedDict, total=False):
    """How something goes to the Hub: into a `private` or `gated` repository, onto the branch `revision` (by default
    main), under a `tag`, as a pull request, or not at all, to see what would.

    `push_folder`, to which it is handed on, refuses other words.
    """

    private: bool
    gated: Gated | None
    revision: str | None
    tag: str | None
    create_pr: bool
    dry_run: bool


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
    new: bool = True  # False: the same contents are at `url` already: in the repository, or as an open pull request
    tag: str | None = None
    texts: tuple[str, ...] = ()  # of the files those that hold prompts and answers of no known benchmark


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
    gated: str | None = None,
    revision: str | None = None,
    tag: str | None = None,
    create_pr: bool = False,
    dry_run: bool = False,
) -> Pushed:
    """Push every file below `folder` in a single commit, so that a failure leaves the remote as it was.

    `replace` are patterns of remote files that go in the same commit unless the folder has them. `create` makes the
    repository if need be, and the branch `revision`. The commit message gets the version and the hash of the contents;
    `description` (Markdown) is the text of a pull request. What is there already, or waits as a pull request, is not
    pushed twice: then `Pushed.new` is False. The token is the one that `hf auth login` or HF_TOKEN gave; it appears in
    no message. Raises UserError where the user can mend it: a file that holds a known secret, a tag that is taken.
    """
    check_name(repo_id)
    check_place(repo_type, create_pr, gated, revision, tag)
    files = _files(folder)
    _check_secrets(files)
    content = content_hash(folder, files)
    mark = f"sha256 {content[:12]})"
    title = f"{message} (truebench-hf {__version__}, {mark}"
    told = (repo_id, repo_type, {name: path.stat().st_size for name, path in files.items()}, content, title)
    if dry_run:
        return Pushed(*told, True, tag=tag)
    with hub_errors(repo_id):
        if create:
            open_repo(repo_id, repo_type, private, gated)
        if revision and not create_pr:
            open_branch(repo_id, repo_type, revision)
        if create_pr and (waiting := _waiting(repo_id, repo_type, mark)):
            return Pushed(*told, False, waiting, new=False)
        url, new = _commit(_Change(files, repo_id, repo_type, revision, replace), title, description, create_pr, tag)
    return Pushed(*told, False, url, new, tag)


@dataclass(frozen=True)
class _Change:
    """Which files are to be where."""

    files: dict[str, Path]
    repo_id: str
    repo_type: RepoType
    revision: str | None
    replace: Sequence[str]

    def operations(self) -> list[Any]:
        """What a commit has to do: files that are not there, or differ, and those that go."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete
        from huggingface_hub.hf_api import RepoFile

        tree = hub_api().list_repo_tree(
            self.repo_id, recursive=True, revision=self.revision, repo_type=self.repo_type
        )  # fmt: skip
        there = {entry.path: entry for entry in tree if isinstance(entry, RepoFile)}
        added = [CommitOperationAdd(n, str(p)) for n, p in self.files.items() if n not in there or _new(p, there[n])]
        gone = [n for n in there if n not in self.files and any(fnmatch.fnmatch(n, glob) for glob in self.replace)]
        return [*added, *map(CommitOperationDelete, gone)]


def _commit(change: _Change, title: str, description: str, create_pr: bool, tag: str | None) -> tuple[str, bool]:
    """(where the contents are now, whether they are new there); one commit, or none where nothing changes."""
    api, repo_id = hub_api(), change.repo_id
    where: Any = {"repo_type": change.repo_type, "revision": change.revision}
    operations = change.operations()
    head = None if operations else str(api.repo_info(repo_id, **where).sha)
    if tag:
        check_tag(repo_id, change.repo_type, tag, head)
    if operations:
        # Not upload_folder: with xet it makes several commits, and one that fails half-way would leave a mixed state.
        with warnings.catch_warnings(record=True) as remarks:
            done = api.create_commit(
                repo_id, operations,
                commit_message=title, commit_description=description, create_pr=create_pr or None, **where,
            )  # fmt: skip
        for remark in remarks:
            warn(f"note: {' '.join(str(remark.message).split())}")
        url, head = str(done.pr_url or done.commit_url), done.oid
    else:
        url = f"{api.endpoint}/{'' if change.repo_type == 'model' else f'{change.repo_type}s/'}{repo_id}/commit/{head}"
    if tag:
        try:
            with hub_errors(repo_id):
                api.create_tag(repo_id, tag=tag, revision=head, repo_type=change.repo_type, exist_ok=True)
        except UserError as error:
            told = str(error).replace("; nothing was pushed", "")
            raise UserError(f"{told} (everything is there, at {url}, but for the tag: repeat the command)") from None
    return url, bool(operations)


def _new(path: Path, there: Any) -> bool:
    """Whether a file differs from the one there: by SHA-256 where that is in large storage, else by git's own hash."""
    content = path.read_bytes()
    if there.size != len(content):
        return True
    if there.lfs is not None:
        return bool(there.lfs.sha256 != digest(content))
    return bool(there.blob_id != hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest())


def _waiting(repo_id: str, repo_type: RepoType, mark: str) -> str | None:
    """Where an open pull request is whose title ends with the mark of these contents."""
    found = hub_api().get_repo_discussions(
        repo_id, repo_type=repo_type, discussion_type="pull_request", discussion_status="open"
    )
    return next((str(pull.url) for pull in found if pull.status == "open" and pull.title.endswith(mark)), None)


def content_hash(folder: Path, files: dict[str, Path] | None = None) -> str:
    """SHA-256 over the paths and contents of a folder's files; the same folder gives the same hash anywhere."""
    whole = hashlib.sha256()
    for name, path in (files or _files(folder)).items():
        whole.update(f"{name}\0{digest(path.read_bytes())}\n".encode())
    return whole.hexdigest()


def _check_secrets(files: dict[str, Path]) -> None:
    """Raise UserError where a file holds a key or login that this process knows: once on the Hub it is everybody's."""
    from huggingface_hub import get_token

    learn(get_token())
    for name, path in files.items():
        if known(text := path.read_bytes().decode("utf-8", "replace")) != text:
            raise UserError(f"{name} holds a key or a login of yours; take it out: nothing was pushed")


def _files(folder: Path) -> dict[str, Path]:
    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    below = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    files = {name.as_posix(): path for name, path in below.items() if SKIPPED.isdisjoint(name.parts)}
    if not files:
        raise UserError(f"{folder}: holds no files to push")
    return files
