"""Why a model fails: the criteria that it misses most, by type, and examples."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from truebench_hf.comparing.runs import Entry, loads
from truebench_hf.data import jsonl
from truebench_hf.data.heads import of_entry
from truebench_hf.data.judged import sample_name
from truebench_hf.data.records import JUDGMENTS
from truebench_hf.errors import UserError
from truebench_hf.metrics.pass_rate import outcome
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened

_EXAMPLES = 3
_CRITERIA = 3  # of a type
_LONGEST = 240  # characters of what is quoted


@dataclass(frozen=True, slots=True)
class Example:
    """A conversation that failed: the name of its instance, what was asked, and a criterion that was not met, with why."""

    name: str
    language: str
    category: str
    asked: str
    criterion: str
    reason: str


@dataclass(frozen=True)
class Story:
    """What a run's judgments tell: by type of criteria ("" where the data names none) how many were decided and missed,
    and the missed ones with how often; examples of failed conversations, of different categories where there are."""

    decided: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    most: Mapping[str, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    examples: tuple[Example, ...] = ()


def read(file: Path) -> dict[str, Story]:
    """By model the story of a `judgments.jsonl`. Raises OSError, ValueError and UserError."""
    found: dict[str, _Reading] = {}
    with file.open("rb") as content:
        for _, line in jsonl.lines(content, file.name):
            row = loads(line.decode("utf-8", "replace"))
            found.setdefault(str(row.get("model") or ""), _Reading()).add(row)
    shown = anonymous.names(found)
    return {shown[model]: reading.story for model, reading in found.items()}


class _Reading:
    """What the lines of a model tell that were read so far."""

    def __init__(self) -> None:
        self.decided, self.missed = Counter[str](), Counter[str]()
        self.texts: dict[str, Counter[str]] = {}
        self.examples: list[Example] = []

    @property
    def story(self) -> Story:
        most = {kind: tuple(count.most_common(_CRITERIA)) for kind, count in self.texts.items()}
        return Story(self.decided, self.missed, most, tuple(self.examples))

    def add(self, row: Mapping[str, Any]) -> None:
        for verdict in (one for turn in row["verdicts"] for one in turn):
            kind, label = verdict.get("kind") or "", outcome(verdict["label"], verdict.get("weight", 1.0))
            self.decided[kind] += label in ("yes", "no")
            if label == "no":
                self.missed[kind] += 1
                self.texts.setdefault(kind, Counter())[shortened(verdict["criterion"], _LONGEST)] += 1
                _keep(self.examples, row, verdict)


def _keep(found: list[Example], row: Mapping[str, Any], verdict: Mapping[str, Any]) -> None:
    """Keep the first failure of each category, and further ones while there is room."""
    name, category = sample_name(str(row["id"]), row.get("sample", 1)), str(row.get("category") or "")
    if any(one.name == name for one in found):
        return
    here = Example(
        name,
        str(row.get("language") or ""),
        category,
        shortened(_asked(row), _LONGEST),
        shortened(verdict["criterion"], _LONGEST),
        shortened(verdict["reason"], _LONGEST),
    )
    if len(found) < _EXAMPLES:
        found.append(here)
        return
    seen = Counter(one.category for one in found)
    if category not in seen and (twice := [i for i, one in enumerate(found) if seen[one.category] > 1]):
        found[twice[-1]] = here


def _asked(row: Mapping[str, Any]) -> str:
    return next((str(m["content"]) for m in row["messages"] if m["role"] == "user"), "")


class Stories:
    """The stories of runs, each file read once until it changes."""

    def __init__(self) -> None:
        self._kept: dict[Path, tuple[tuple[int, int], dict[str, Story]]] = {}
        self._lock = threading.Lock()

    def of(self, entry: Entry) -> Story | None:
        """The story of a board's line; None without judgments that can be read."""
        if entry.folder is None:
            return None
        try:
            # A new commit of the results is a folder of links to files that are known already.
            file = (entry.folder / JUDGMENTS).resolve(strict=True)
            mark = (file.stat().st_mtime_ns, file.stat().st_size)
            old = self._kept.get(file)
            if old is None or old[0] != mark:
                old = (mark, read(file))
                with self._lock:
                    self._kept[file] = old
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError):
            return None  # whoever wrote it: a run without a story is shown without one
        return of_entry(old[1], entry.name) if old[1] else None

    def keep_only(self, folders: Collection[Path]) -> None:
        """Forget what is no longer there."""
        there = {(folder / JUDGMENTS).resolve() for folder in folders}
        with self._lock:
            self._kept = {file: kept for file, kept in self._kept.items() if file in there}
