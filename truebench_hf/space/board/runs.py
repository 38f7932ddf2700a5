"""Finding run folders, and reading what they hold about a model or about judges."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.engine.ledger import digest
from truebench_hf.space.board import shown
from truebench_hf.space.board.entries import Entry, measured

_DEEPEST = 4


@dataclass(frozen=True, slots=True)
class JudgeRun:
    """A meta-evaluation folder: its settings and scores as they were written. `key` is equal for copies of one study."""

    key: str
    info: Mapping[str, Any]
    scores: Mapping[str, Any]


def folders(roots: Iterable[Path]) -> Iterator[Path]:
    """Every folder with a `scores.json` at or below the roots, in order of name.

    Hidden ones are left out, and those that cannot be looked into.
    """
    for root in roots:
        yield from _below(root, 0)


def _below(folder: Path, depth: int) -> Iterator[Path]:
    children: list[Path] = []
    try:
        is_run = (folder / "scores.json").is_file()
        if not is_run and depth < _DEEPEST and folder.is_dir():
            children = sorted(folder.iterdir())
    except OSError:  # not ours to read, or gone meanwhile
        return
    if is_run:
        yield folder
    for child in children:
        if not child.name.startswith("."):
            yield from _below(child, depth + 1)


def stamp(folder: Path) -> tuple[int, ...]:
    """Changes when the results in a folder do."""
    found = []
    for name in ("scores.json", "run.json", "judgments.jsonl"):
        with suppress(OSError):  # absent, or gone meanwhile
            facts = (folder / name).stat()
            found += [facts.st_mtime_ns, facts.st_size]
    return tuple(found)


def read(folder: Path) -> Entry | JudgeRun | None:
    """What a folder holds; None where it is unreadable or something else, so that one bad folder hides no other."""
    try:
        text = (folder / "scores.json").read_text("utf-8")
        scores = shown.loads(text)
        info = shown.loads((folder / "run.json").read_text("utf-8"))
        if not isinstance(scores, dict) or not isinstance(info["settings"], dict):
            return None
        if "by_category" in scores and "model" in info["settings"]:
            return measured(folder, info, scores)
        return JudgeRun(digest(text), info, scores)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None
