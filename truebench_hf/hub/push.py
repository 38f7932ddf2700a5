"""Uploads folders to the Hub: data sets, the Space, metrics (which are Spaces there), and what other modules have staged.

What can go wrong there is said in one line that shows no token.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from truebench_hf.errors import UserError, refused
from truebench_hf.options import Options, option
from truebench_hf.text import redaction
from truebench_hf.text.terminal import warn
from truebench_hf.version import __version__

if TYPE_CHECKING:
    from huggingface_hub import HfApi

RepoType = Literal["model", "dataset", "space"]
# Left behind by tools, or private: never part of what is published.
SKIPPED = frozenset({".git", ".cache", "__pycache__", ".DS_Store", ".ipynb_checkpoints", ".gradio", ".env", ".venv"})
PACKAGE = "truebench_hf"
_skipped = shutil.ignore_patterns(*SKIPPED)
_REMEDIES = {
    401: "run `hf auth login` or set HF_TOKEN", 403: "use a token that may do so (`hf auth login`, HF_TOKEN)",
    404: "check its name, and that your token may see it (`hf auth login`, HF_TOKEN)",
}  # fmt: skip


class HubOptions(Options):
    """How something goes to the Hub."""

    PANEL: ClassVar[str] = "Hub"
    private: bool = option(False, help="Create it as, and insist on, a private repository.")
    create_pr: bool = option(False, help="As a pull request.")
    dry_run: bool = option(False, help="List files and sizes; push nothing.")


class PushOptions(HubOptions):
    """Which data set is pushed, and where."""

    PANEL: ClassVar[str] = "Options"
    folder: str = option(help="Folder that `truebench data build` wrote.", argument=True)
    repo_id: str = option(help="Repository on the Hub: ORG/NAME.")
    rights: bool = option(
        False,
        flag="--i-have-the-rights",
        help="State that you may publish a set of restricted licence, or rows of your own.",
    )


class ResultsOptions(HubOptions):
    """Which run is published, and where."""

    PANEL: ClassVar[str] = "Options"
    run: str = option(help="Folder of a finished run or study; with --check a results data set.", argument=True)
    repo_id: str | None = option(None, help="Results data set that gets the run: ORG/RESULTS.")
    model_repo: str | None = option(None, help="Model whose page gets the score: ORG/MODEL.")
    dataset: str | None = option(
        None, help="With --model-repo: the benchmark's data set on the Hub, ORG/NAME or ORG/NAME@REVISION."
    )
    force: bool = option(False, help="Also a run of a scripted model, or of another than --model-repo names.")
    replace: bool = option(False, help="In place of the run there that measured the same.")
    public: bool = option(False, help="Data of no known benchmark: everybody may read its prompts and answers.")


class PublishSpaceOptions(HubOptions):
    """Which Space is pushed, and where."""

    PANEL: ClassVar[str] = "Options"
    repo_id: str = option(help="Repository on the Hub: ORG/NAME.")
    folder: str | None = option(None, help="Folder of the Space; by default the one of this checkout.")


class MetricOptions(HubOptions):
    """Which metric is pushed, and where."""

    PANEL: ClassVar[str] = "Options"
    name: str = option(help="Name of the metric, e.g. truebench_score.", argument=True)
    repo_id: str = option(help="Repository on the Hub: ORG/NAME.")


@dataclass(frozen=True, slots=True)
class Pushed:
    """What was pushed, or with `dry_run` would be: path -> size in bytes, and where it went."""

    repo_id: str
    repo_type: RepoType
    files: dict[str, int]
    dry_run: bool
    url: str | None = None  # of the commit, or of the pull request
    new: bool = True  # False: the same contents are at `url` already
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
    waiting: str | None = None,
) -> Pushed:
    """Push every file below `folder` by the Hub client's own folder commit.

    `replace` are patterns of remote files that go in the same commit unless the folder has them. `create` makes the
    repository if need be. `description` (Markdown) is the text of a pull request. What is there already, or in the pull
    request `waiting` (its address), is not pushed twice: then `Pushed.new` is False. The token is the one that
    `hf auth login` or HF_TOKEN gave; it appears in no message. Raises UserError where the user can mend it, as a file that
    holds a known secret.
    """
    check_name(repo_id)
    sizes = _sizes(folder)
    if how.dry_run or waiting:
        return Pushed(repo_id, repo_type, sizes, how.dry_run, waiting, new=not waiting)
    api = hub_api()
    with hub_errors(repo_id), warnings.catch_warnings(record=True) as remarks:
        if create:
            sdk = "gradio" if repo_type == "space" else None
            api.create_repo(repo_id, repo_type=repo_type, private=how.private or None, exist_ok=True, space_sdk=sdk)
        repo = api.repo_info(repo_id, repo_type=repo_type)
        if how.private and not repo.private:
            # exist_ok accepts a public repository of that name, and never changes its visibility.
            raise UserError(f"{repo_id} exists and is public, but --private was asked for; nothing was pushed")
        done = api.upload_folder(
            repo_id=repo_id, repo_type=repo_type, folder_path=folder,
            commit_message=f"{message} (truebench-hf {__version__})", commit_description=description,
            create_pr=how.create_pr or None, delete_patterns=[*replace] or None,
            ignore_patterns=[pattern for name in SKIPPED for pattern in (name, f"{name}/*", f"*/{name}", f"*/{name}/*")],
        )  # fmt: skip
    for remark in remarks:
        warn(f"note: {' '.join(str(remark.message).split())}")
    is_new = bool(done.pr_url) or done.oid != repo.sha
    return Pushed(repo_id, repo_type, sizes, False, str(done.pr_url or done.commit_url), is_new)


def hub_api() -> HfApi:
    """The Hub's client under our name."""
    from huggingface_hub import HfApi

    return HfApi(library_name="truebench-hf", library_version=__version__)


@contextmanager
def hub_errors(repo_id: str) -> Iterator[None]:
    """Turn the client's errors on authorisation, network and absent repositories into a UserError without the token."""
    from httpx2 import HTTPError  # of the Hub client's own transport
    from huggingface_hub import get_token
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

    redaction.learn(get_token())
    try:
        yield
    except HfHubHTTPError as error:
        status, message = error.response.status_code, _one_line(error.server_message or error)
        remedy = _REMEDIES.get(status, "try again")
        raise UserError(f"{repo_id}: the Hub refused with {status}: {message}; {remedy}") from None
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


def push_data(options: PushOptions) -> Pushed:
    """Push a built folder to a data set in one commit: `truebench data push` as a call.

    Data files of an earlier build that the folder lacks are removed in the same commit. The card that goes there has the
    repository's own id in its commands; the folder stays as it is. Raises UserError on a folder that is no build, a
    blind split without `private`, a licence that does not allow publishing without `rights`, and on what the Hub refuses.
    """
    from truebench_hf.data.catalogue import entry
    from truebench_hf.loaders.export import manifest

    folder = Path(options.folder)
    content = manifest(folder)
    what = entry(content["name"])
    # The manifest or a file's name says so: one of them may have been edited.
    listed = any("blind" in splits for splits in content["rows"].values())
    blind = listed or any(path.stem.startswith("blind") for path in folder.rglob("*.parquet"))
    if blind and not options.private:
        raise UserError(f"{folder}: holds a blind split, which is never pushed in public; add --private")
    own = what.benchmark and content["version"].startswith("sha256")
    if own and not (options.private or options.rights):
        raise UserError(
            f"{folder}: its rows are no public release of {what.name}, whose licence stands on the card; add --private, or "
            "--i-have-the-rights if you may publish them under it"
        )
    if not what.publishable and not options.rights:
        raise UserError(
            f"{folder}: the licence of {what.name} is that of its sources and may not allow publishing it; "
            "if you have the rights, add --i-have-the-rights"
        )
    message = f"Add {what.name} {content['version']}"
    with tempfile.TemporaryDirectory() as scratch:
        staged = _stage_data(folder, Path(scratch, "staged"), options.repo_id, content)
        return push_folder(
            staged, options.repo_id, "dataset", options, message=message, replace=("data/*", "eval.yaml")
        )


def publish_space(options: PublishSpaceOptions) -> Pushed:
    """Push the Space with this library as one commit: `truebench publish space` as a call. Raises UserError as it does."""
    folder = Path(options.folder) if options.folder else Path(__file__).resolve().parents[2] / "space"
    return push_space(folder, options.repo_id, options, "Update the Space")


def push_space(folder: Path, repo_id: str, how: HubOptions, message: str, app: Path | None = None) -> Pushed:
    """Push a Space and this library, with `app` as its app.py where it has none; files of an earlier library go in the
    same commit."""
    with tempfile.TemporaryDirectory() as out:
        stage_space(folder, Path(out, "space"), app)
        card = Path(out, "space", "README.md")
        # The repository's own id where a command names it, or an example loads the metric.
        named = card.read_text("utf-8").replace("--repo-id ORG/NAME", f"--repo-id {repo_id}")
        card.write_text(re.sub(r'truebench_hf\.metric\("\w+"\)', f'"{repo_id}"', named), encoding="utf-8")
        return push_folder(Path(out, "space"), repo_id, "space", how, message=message, replace=(f"{PACKAGE}/*",))


def stage_space(folder: Path, out: Path, app: Path | None = None) -> None:
    """Copy a Space's folder to `out`, with the library as it is installed here, data set builders included.

    Not as a wheel: the Hub installs requirements.txt before the Space's other files are there, so that it cannot name
    one of them; and `python app.py` finds what lies beside it. Raises UserError where `folder` is no Space.
    """
    for name in (*(() if app else ("app.py",)), "README.md", "requirements.txt"):
        if not (folder / name).is_file():
            raise UserError(
                f"{folder}: no Space there (no {name}); give the folder `space` of a checkout with --folder"
            )
    import truebench_hf.loaders

    shutil.copytree(folder, out, ignore=shutil.ignore_patterns(*SKIPPED, PACKAGE))
    if app:
        shutil.copy(app, out / "app.py")
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


def _one_line(error: object) -> str:
    return redaction.error(" ".join(str(error).split()))[:300]


def _stage_data(folder: Path, out: Path, repo_id: str, content: Mapping[str, Any]) -> Path:
    """Copy a built folder, with the repository's id on the card, and in build.json for who pushes a clone of it."""
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
