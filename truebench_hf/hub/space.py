"""The Space as it is pushed: its folder with the library beside `app.py`, so that it needs no package index for it."""

from __future__ import annotations

import re
import shutil
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Unpack

from truebench_hf.errors import UserError
from truebench_hf.hub.push import SKIPPED, How, Pushed, push_folder

PACKAGE = "truebench_hf"


def publish_space(folder: Path, repo_id: str, *, message: str = "Update the Space", **how: Unpack[How]) -> Pushed:
    """Push a Space and this library to the Hub as one commit; files of an earlier library go in the same commit.

    A metric's folder is a Space, too. Raises UserError where `folder` is no Space and on what `push_folder` finds.
    """
    with tempfile.TemporaryDirectory() as out:
        stage_space(folder, Path(out, "space"))
        card = Path(out, "space", "README.md")
        card.write_text(_addressed(card.read_text("utf-8"), repo_id), encoding="utf-8")
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

    skipped = shutil.ignore_patterns(*SKIPPED)
    shutil.copytree(folder, out, ignore=shutil.ignore_patterns(*SKIPPED, PACKAGE))
    requirements = out / "requirements.txt"
    requirements.write_text(_on_an_index(requirements.read_text("utf-8")), "utf-8")
    package, loaders = Path(__file__).parents[1], Path(truebench_hf.loaders.__path__[0])
    shutil.copytree(package, out / PACKAGE, ignore=skipped)
    # In a checkout they are a folder of their own, and only the installed package has them inside.
    shutil.copytree(loaders, out / PACKAGE / "loaders", ignore=skipped, dirs_exist_ok=True)


def _addressed(card: str, repo_id: str) -> str:
    """The card with the repository's own id where a command names it, or an example loads the metric."""
    named = card.replace("--repo-id ORG/NAME", f"--repo-id {repo_id}")
    return re.sub(r'truebench_hf\.metric\("\w+"\)', f'"{repo_id}"', named)


def _on_an_index(requirements: str) -> str:
    """The lines without the library itself, which lies beside the app, but with what it needs."""
    name = PACKAGE.replace("_", "-")
    others = [line for line in requirements.splitlines() if not line.startswith(name)]
    if len(others) == len(requirements.splitlines()):
        return requirements
    needed = [line for line in metadata.requires(name) or () if "extra ==" not in line]
    return "\n".join(sorted({*others, *needed})) + "\n"
