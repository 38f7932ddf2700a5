"""Publish a built data set: only where its licence allows, and nothing private in public."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from truebench_hf.errors import UserError
from truebench_hf.hub.push import How, Pushed, push_folder


def push_data(folder: Path, repo_id: str, *, rights: bool = False, **how: Unpack[How]) -> Pushed:
    """Push a folder that `export` wrote; data files of an earlier build that it lacks are removed in the same commit.

    Raises UserError on a folder that is no build, a blind split without `private`, a licence that does not allow
    publishing without `rights`, and on what `push_folder` finds.
    """
    from truebench_hf.loaders.catalogue import entry
    from truebench_hf.loaders.export import manifest

    content = manifest(folder)
    what = entry(content["name"])
    if _is_blind(folder, content) and not how.get("private"):
        raise UserError(f"{folder}: holds a blind split, which is never pushed in public; add --private")
    if not what.publishable and not rights:
        raise UserError(
            f"{folder}: the licence of {what.name} is that of its sources and may not allow publishing it; "
            "if you have the rights, add --i-have-the-rights"
        )
    message = f"Add {what.name} {content['version']}"
    return push_folder(folder, repo_id, "dataset", message=message, replace=("data/*", "eval.yaml"), **how)


def _is_blind(folder: Path, content: dict[str, dict[str, dict[str, int]]]) -> bool:
    """Whether the manifest or a file's name says so: one of them may have been edited."""
    listed = any("blind" in splits for splits in content["rows"].values())
    return listed or any(path.stem.startswith("blind") for path in folder.rglob("*.parquet"))
