"""The repository that something goes to: made and gated if need be, with the branch and the tag that were asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from truebench_hf.errors import UserError
from truebench_hf.version import __version__

if TYPE_CHECKING:
    from huggingface_hub import HfApi

RepoType = Literal["model", "dataset", "space"]
Gated = Literal["auto", "manual"]


def hub_api() -> HfApi:
    """The Hub's client under our name."""
    from huggingface_hub import HfApi

    return HfApi(library_name="truebench-hf", library_version=__version__)


def check_place(repo_type: RepoType, create_pr: bool, gated: str | None, revision: str | None, tag: str | None) -> None:
    """Raise UserError on what can be seen to be wrong with where something is to go, before the Hub is asked."""
    if gated not in (None, "auto", "manual"):
        raise UserError(
            f"--gated {gated}: write auto (whoever asks gets access) or manual (you decide on each request)"
        )
    if gated and repo_type == "space":
        raise UserError("--gated: the Hub gates models and data sets, not Spaces; use --private")
    for option, name in (("--revision", revision), ("--tag", tag)):
        if name is not None and re.fullmatch(r"(?![./-])[\w./-]*\w", name, re.ASCII) is None:
            raise UserError(f"{option} {name}: write it of letters, digits, - _ . and /")
    if tag and create_pr:
        raise UserError(f"--tag {tag}: nothing can be tagged before the pull request is merged; leave out one of them")


def open_repo(repo_id: str, repo_type: RepoType, private: bool, gated: str | None) -> None:
    """Make the repository if need be. Gated before anything is in it, so that nobody fetches the files meanwhile."""
    api, sdk = hub_api(), "gradio" if repo_type == "space" else None
    api.create_repo(repo_id, repo_type=repo_type, private=private or None, exist_ok=True, space_sdk=sdk)
    if private and not api.repo_info(repo_id, repo_type=repo_type).private:
        # exist_ok accepts a public repository of that name, and never changes its visibility.
        raise UserError(f"{repo_id} exists and is public, but --private was asked for; nothing was pushed")
    if gated:
        api.update_repo_settings(repo_id, repo_type=repo_type, gated=gated)  # type: ignore[arg-type]


def open_branch(repo_id: str, repo_type: RepoType, revision: str) -> None:
    """Make the branch, off main, if it is not there."""
    if not revision.startswith("refs/"):  # a pull request's, say: it is there or not
        hub_api().create_branch(repo_id, branch=revision, repo_type=repo_type, exist_ok=True)


def check_tag(repo_id: str, repo_type: RepoType, tag: str, head: str | None) -> None:
    """Raise UserError where the tag stands at anything but commit `head` (None: one that is yet to be made)."""
    tags = {found.name: found.target_commit for found in hub_api().list_repo_refs(repo_id, repo_type=repo_type).tags}
    if tags.get(tag, head) != head:
        raise UserError(
            f"--tag {tag}: {repo_id} has it already, at commit {tags[tag][:10]}, and others may rely on it; "
            "give another name: nothing was pushed"
        )
