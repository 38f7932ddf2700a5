"""Push a folder to the Hub, and say what can go wrong there in one line that shows no token."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from truebench_hf.errors import UserError, refused
from truebench_hf.hub.options import HubOptions
from truebench_hf.text import redaction
from truebench_hf.text.terminal import warn
from truebench_hf.version import __version__

if TYPE_CHECKING:
    from huggingface_hub import HfApi

RepoType = Literal["model", "dataset", "space"]

# Left behind by tools, or private: never part of what is published.
SKIPPED = frozenset({".git", ".cache", "__pycache__", ".DS_Store", ".ipynb_checkpoints", ".gradio", ".env", ".venv"})


@dataclass(frozen=True, slots=True)
class Pushed:
    """What was pushed, or with `dry_run` would be: path -> size in bytes, and where it went."""

    repo_id: str
    repo_type: RepoType
    files: dict[str, int]
    message: str
    dry_run: bool
    url: str | None = None  # of the commit, or of the pull request
    new: bool = True  # False: the same contents are at `url` already
    tag: str | None = None
    texts: tuple[str, ...] = ()  # files with prompts and answers of no known benchmark


def push_folder(
    folder: Path,
    repo_id: str,
    repo_type: RepoType,
    how: HubOptions,
    *,
    message: str = "Upload",
    description: str = "",
    replace: Sequence[str] = (),
    create: bool = True,
) -> Pushed:
    """Push every file below `folder` by the Hub client's own folder commit.

    `replace` are patterns of remote files that go in the same commit unless the folder has them. `create` makes the
    repository if need be, and the branch. `description` (Markdown) is the text of a pull request. What is there already
    is not pushed twice: then `Pushed.new` is False. The token is the one that `hf auth login` or HF_TOKEN gave; it
    appears in no message. Raises UserError where the user can mend it: a file that holds a known secret, a tag that is
    taken.
    """
    check_name(repo_id)
    _check_place(how)
    sizes = _sizes(folder)
    title = f"{message} (truebench-hf {__version__})"
    if how.dry_run:
        return Pushed(repo_id, repo_type, sizes, title, True, tag=how.tag)
    api, where = hub_api(), cast("dict[str, Any]", {"repo_type": repo_type, "revision": how.revision})
    with hub_errors(repo_id), warnings.catch_warnings(record=True) as remarks:
        if create:
            _open_repo(repo_id, repo_type, how)
        if how.revision and not how.revision.startswith("refs/"):
            api.create_branch(repo_id, branch=how.revision, repo_type=repo_type, exist_ok=True)
        tags = api.list_repo_refs(repo_id, repo_type=repo_type).tags if how.tag else []
        if taken := next((ref.target_commit for ref in tags if ref.name == how.tag), None):
            raise UserError(
                f"--tag {how.tag}: {repo_id} has it already, at commit {taken[:10]}, and others may rely on it; give "
                "another name: nothing was pushed"
            )
        head = str(api.repo_info(repo_id, **where).sha)
        done = api.upload_folder(
            repo_id=repo_id, folder_path=folder, commit_message=title, commit_description=description,
            create_pr=how.create_pr or None, delete_patterns=[*replace] or None,
            ignore_patterns=[pattern for name in SKIPPED for pattern in (name, f"{name}/*", f"*/{name}", f"*/{name}/*")],
            **where,
        )  # fmt: skip
    for remark in remarks:
        warn(f"note: {' '.join(str(remark.message).split())}")
    url, commit = str(done.pr_url or done.commit_url), str(done.oid)
    if how.tag:
        try:
            with hub_errors(repo_id):
                api.create_tag(repo_id, tag=how.tag, revision=commit, repo_type=repo_type)
        except UserError as error:
            raise UserError(f"{error} (everything is there, at {url}, but for the tag: repeat the command)") from None
    return Pushed(repo_id, repo_type, sizes, title, False, url, bool(done.pr_url) or commit != head, how.tag)


def hub_api() -> HfApi:
    """The Hub's client under our name."""
    from huggingface_hub import HfApi

    return HfApi(library_name="truebench-hf", library_version=__version__)


@contextmanager
def hub_errors(repo_id: str, right: str = "write") -> Iterator[None]:
    """Turn the client's errors on authorisation, network and absent repositories into a UserError without the token.

    `right` is what the token needs there: write or read.
    """
    from httpx2 import HTTPError  # of the Hub client's own transport
    from huggingface_hub import get_token
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    redaction.learn(get_token())
    try:
        yield
    except HfHubHTTPError as error:
        raise UserError(f"{repo_id}: {_refusal(error, repo_id, right)}") from None
    except OfflineModeIsEnabled:
        raise UserError(f"{repo_id}: HF_HUB_OFFLINE is set; unset it to reach the Hub") from None
    except ValueError as error:  # all that the client makes of the validator's answer
        first, _, reason = str(error).partition("\n")
        if "metadata in README.md" not in first:
            raise
        raise UserError(
            f"{repo_id}: the Hub refuses the header of the card: {_one_line(reason).removeprefix('- ') or 'no reason given'}; "
            "mend README.md between its two lines of ---, then push again: nothing was pushed"
        ) from None
    # The xet transport reports its network failures as RuntimeError, and a download that failed is a file not found.
    except (HTTPError, ConnectionError, TimeoutError, RuntimeError, LocalEntryNotFoundError) as error:
        raise UserError(f"{repo_id}: the Hub cannot be reached ({_one_line(error)}); try again") from None


def check_name(repo_id: str, option: str = "--repo-id") -> None:
    """Raise UserError, with the name of the option, unless this can be the name of a repository on the Hub."""
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]

    if re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", repo_id, re.ASCII) is None:
        raise UserError(f"{option} {repo_id}: write it as ORGANISATION/NAME, of letters, digits, - _ and .")
    with refused(f"{option} {repo_id}"):
        validate_repo_id(repo_id)


def name_and_revision(text: str, option: str) -> tuple[str, str]:
    """The two parts of `ORG/NAME[@REVISION]`. Raises UserError, with the name of the option, on anything else."""
    name, at, revision = text.partition("@")
    check_name(name, option)
    if at and not re.fullmatch(r"[\w./-]+", revision, re.ASCII):
        raise UserError(f"{option} {text}: write it as ORG/NAME or ORG/NAME@REVISION")
    return name, revision


def _check_place(how: HubOptions) -> None:
    """Raise UserError on what can be seen to be wrong with where something is to go, before the Hub is asked."""
    for name in ("revision", "tag"):
        value = getattr(how, name)
        if value is not None and re.fullmatch(r"(?![./-])[\w./-]*\w", value, re.ASCII) is None:
            raise UserError(f"--{name} {value}: write it of letters, digits, - _ . and /")
        if value and how.create_pr:
            raise UserError(
                f"--{name} {value}: a pull request goes to main, and is tagged when it is merged; leave it out"
            )


def _open_repo(repo_id: str, repo_type: RepoType, how: HubOptions) -> None:
    """Make the repository if need be. Gated before anything is in it, so that nobody fetches the files meanwhile."""
    api, sdk = hub_api(), "gradio" if repo_type == "space" else None
    api.create_repo(repo_id, repo_type=repo_type, private=how.private or None, exist_ok=True, space_sdk=sdk)
    if how.private and not api.repo_info(repo_id, repo_type=repo_type).private:
        # exist_ok accepts a public repository of that name, and never changes its visibility.
        raise UserError(f"{repo_id} exists and is public, but --private was asked for; nothing was pushed")
    if gated := getattr(how, "gated", None):
        api.update_repo_settings(repo_id, repo_type=repo_type, gated=gated)


def _sizes(folder: Path) -> dict[str, int]:
    """The sizes of the files of a folder that are pushed, by path below it.

    Raises UserError where there are none, and where one holds a key or login that this process knows: once on the Hub it
    is everybody's.
    """
    from huggingface_hub import get_token

    if not folder.is_dir():
        raise UserError(f"{folder}: not a folder")
    below = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    files = {name.as_posix(): path for name, path in below.items() if SKIPPED.isdisjoint(name.parts)}
    if not files:
        raise UserError(f"{folder}: holds no files to push")
    redaction.learn(get_token())
    for name, path in files.items():
        if redaction.known(text := path.read_bytes().decode("utf-8", "replace")) != text:
            raise UserError(f"{name} holds a key or a login of yours; take it out: nothing was pushed")
    return {name: path.stat().st_size for name, path in files.items()}


def _refusal(error: Any, repo_id: str, right: str) -> str:
    from huggingface_hub.errors import GatedRepoError, RevisionNotFoundError

    status = error.response.status_code
    if isinstance(error, GatedRepoError):
        return "is gated; ask for access on its page, then run `hf auth login` or set HF_TOKEN"
    if isinstance(error, RevisionNotFoundError):
        return "has no such branch or revision"
    known = {
        401: "the Hub does not accept your token, or there is none; run `hf auth login` or set HF_TOKEN",
        403: f"your token may not {right} there; use one with {right} permission for {repo_id.split('/')[0]}",
        404: "the Hub has no such repository, or your token may not see it",
    }
    return known.get(status, f"the Hub refused with {status}: {_one_line(error.server_message or error)}; try again")


def _one_line(error: object) -> str:
    return redaction.error(" ".join(str(error).split()))[:300]
