"""Repositories of the Hub stub, in memory: commits, branches and pull requests, without a word of HTTP."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field


class HubError(Exception):
    """A request the Hub refuses. `code` goes into X-Error-Code, which is how clients tell one 404 from another."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


@dataclass(frozen=True)
class Blob:
    """The bytes of a file and their git object id."""

    data: bytes
    oid: str


def blob(data: bytes) -> Blob:
    """Wrap file contents; the id is git's own, which clients compare to skip uploads that change nothing."""
    return Blob(data, hashlib.sha1(b"blob %d\x00" % len(data) + data).hexdigest())


@dataclass(frozen=True)
class Commit:
    """A state of all files of a repository."""

    oid: str
    message: str
    description: str
    files: Mapping[str, Blob]


@dataclass
class Pull:
    """A pull request; its commits are on `ref`, which starts at `base`."""

    num: int
    title: str
    base: Commit
    status: str = "open"

    @property
    def ref(self) -> str:
        return f"refs/pr/{self.num}"


def _commit(parent: Commit | None, message: str, description: str, files: Mapping[str, Blob]) -> Commit:
    # The id covers the contents: caches are keyed by it, and two stubs must not share an id for different files.
    seed = [parent.oid if parent else "", message, *(f"{path} {item.oid}" for path, item in sorted(files.items()))]
    return Commit(hashlib.sha1("\x00".join(seed).encode()).hexdigest(), message, description, files)


@dataclass
class Repo:
    """One repository; `refs` maps a branch name or `refs/pr/N` to its commits, oldest first."""

    repo_type: str
    repo_id: str
    private: bool = False
    sdk: str | None = None
    gated: str | bool = False
    refs: dict[str, list[Commit]] = field(default_factory=dict)
    pulls: list[Pull] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.refs["main"] = [_commit(None, "initial commit", "", {})]

    def history(self, revision: str) -> list[Commit]:
        """The commits up to a branch, a pull request's ref or a commit id, oldest first."""
        name = revision.removeprefix("refs/heads/")
        if name in self.refs:
            return self.refs[name]
        for commits in self.refs.values():
            for position, commit in enumerate(commits, 1):
                if commit.oid == revision:
                    return commits[:position]
        raise HubError(404, f"Invalid rev id: {revision}", "RevisionNotFound")

    def head(self, revision: str) -> Commit:
        """The newest commit of `revision`."""
        return self.history(revision)[-1]

    def commit(self, ref: str, message: str, description: str, files: Mapping[str, Blob]) -> Commit:
        """Put a commit whose files are `files` on top of a branch or pull request."""
        name = ref.removeprefix("refs/heads/")
        if name not in self.refs:
            raise HubError(404, f"Invalid rev id: {ref}", "RevisionNotFound")
        self.refs[name].append(_commit(self.refs[name][-1], message, description, files))
        return self.refs[name][-1]

    def open_pull(self, title: str, status: str = "open") -> Pull:
        """Open a pull request that starts at main."""
        pull = Pull(len(self.pulls) + 1, title, self.head("main"), status)
        self.refs[pull.ref] = list(self.history("main"))
        self.pulls.append(pull)
        return pull

    def pull(self, num: str) -> Pull:
        """The pull request of that number."""
        for pull in self.pulls:
            if str(pull.num) == num:
                return pull
        raise HubError(404, f"No discussion {num}")

    def merge(self, pull: Pull) -> Commit:
        """Bring what `pull` changed since its base onto main."""
        ours, theirs = dict(self.head("main").files), self.head(pull.ref).files
        for path in {*pull.base.files, *theirs}:
            if path not in theirs:
                ours.pop(path, None)
            elif pull.base.files.get(path) != theirs[path]:
                ours[path] = theirs[path]
        pull.status = "merged"
        return self.commit("main", f"{pull.title} (#{pull.num})", "", ours)
