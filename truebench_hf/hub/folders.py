"""Folders to the Hub: a data set that was built, and the Space, as which a metric goes there, too."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError
from truebench_hf.hub.options import HubOptions, PublishSpaceOptions, PushOptions
from truebench_hf.hub.push import SKIPPED, Pushed, push_folder

PACKAGE = "truebench_hf"
_skipped = shutil.ignore_patterns(*SKIPPED)


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


def push_space(folder: Path, repo_id: str, how: HubOptions, message: str) -> Pushed:
    """Push a Space and this library; files of an earlier library go in the same commit."""
    with tempfile.TemporaryDirectory() as out:
        stage_space(folder, Path(out, "space"))
        card = Path(out, "space", "README.md")
        # The repository's own id where a command names it, or an example loads the metric.
        named = card.read_text("utf-8").replace("--repo-id ORG/NAME", f"--repo-id {repo_id}")
        card.write_text(re.sub(r'truebench_hf\.metric\("\w+"\)', f'"{repo_id}"', named), encoding="utf-8")
        return push_folder(Path(out, "space"), repo_id, "space", how, message=message, replace=(f"{PACKAGE}/*",))


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
