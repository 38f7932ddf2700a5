"""What is uploaded as a folder: a built data set, the Space, a metric; each with the repository's own name on its card."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Unpack

from truebench_hf.errors import UserError
from truebench_hf.hub.push import SKIPPED, How, Pushed, push_folder

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
