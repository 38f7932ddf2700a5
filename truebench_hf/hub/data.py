"""Publish a built data set: only where its licence allows, and nothing private in public."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from truebench_hf.errors import UserError
from truebench_hf.hub.push import SKIPPED, How, Pushed, push_folder


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
    if _is_blind(folder, content) and not how.get("private"):
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


def _staged(folder: Path, out: Path, repo_id: str, content: Mapping[str, Any]) -> Path:
    """A copy of a built folder with the repository's id on the card, and in build.json for who pushes a clone of it."""
    from truebench_hf.data.catalogue import entry
    from truebench_hf.loaders.card import addressed
    from truebench_hf.loaders.export import MANIFEST

    shutil.copytree(folder, out, ignore=shutil.ignore_patterns(*SKIPPED))
    card, former = out / "README.md", str(content.get("repository", ""))
    if card.is_file():
        known = former if former.count("/") == 1 else None  # anybody may have written build.json
        named = addressed(card.read_text("utf-8"), entry(content["name"]), repo_id, known)
        card.write_text(named, encoding="utf-8")
    (out / MANIFEST).write_text(json.dumps({**content, "repository": repo_id}, indent=2) + "\n", encoding="utf-8")
    return out


def _is_blind(folder: Path, content: Mapping[str, Any]) -> bool:
    """Whether the manifest or a file's name says so: one of them may have been edited."""
    listed = any("blind" in splits for splits in content["rows"].values())
    return listed or any(path.stem.startswith("blind") for path in folder.rglob("*.parquet"))
