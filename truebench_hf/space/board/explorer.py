"""Conversations to look through: those of a run, filters, and one at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from truebench_hf.benchmarks.truebench import data
from truebench_hf.comparing import runs
from truebench_hf.comparing.runs import Entry
from truebench_hf.data import jsonl
from truebench_hf.data.heads import of_entry
from truebench_hf.data.judged import Judged, unanswered
from truebench_hf.data.records import Reader
from truebench_hf.errors import UserError
from truebench_hf.text import anonymous
from truebench_hf.text.terminal import shortened
from truebench_hf.types import Message, Response

SAMPLE = "sample"  # the key of the built-in instances, which no model has answered
OUTCOMES = {"failed": False, "unscored": None, "passed": True}  # in the order of lists: what went wrong comes first
UNANSWERED, DIFFER = "not answered", "differ"
_ORDER = {name: place for place, name in enumerate((*OUTCOMES, UNANSWERED))}
_KEPT = 4


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which conversations are shown; an empty field sets no limit. `failed` is text in a criterion that was not met."""

    language: str = ""
    category: str = ""
    outcome: str = ""
    failed: str = ""


@dataclass(frozen=True)
class Conversations:
    """Those of a run by name (the instance's id, behind it which sample), in file order; `ended` says how each ended:
    `passed`, `failed`, `unscored`, or `not answered` for instances without a model."""

    items: Mapping[str, Judged]
    ended: Mapping[str, str]

    @classmethod
    def of(cls, items: Mapping[str, Judged]) -> Conversations:
        """Those that are given."""
        return cls(items, {name: _ended(item) for name, item in items.items()})


class RecentRuns:
    """The conversations of the runs looked at last, so that a click does not read a file again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, ...], Conversations]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, entry: Entry | None) -> Conversations:
        """Those of a run; without one the built-in sample. Raises UserError."""
        if entry is None:
            return sample()
        if entry.folder is None:
            raise UserError("this entry has no conversations to show")
        mark = runs.stamp(entry.folder)
        with self._lock:
            kept = self._kept.get(entry.key)
            if kept is None or kept[0] != mark:
                kept = mark, Conversations.of(_read(entry.folder / "judgments.jsonl", entry.name))
                self._kept[entry.key] = kept
            self._kept.move_to_end(entry.key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return kept[1]


@cache
def sample() -> Conversations:
    """The built-in instances as conversations that no model has had: theirs has no name."""
    found = {}
    for instance in data.load("mini"):
        asked = Response(instance.id, "", tuple(Message("user", turn.prompt) for turn in instance.turns))
        found[instance.id] = Judged(instance, asked, tuple(unanswered(instance, asked)))
    return Conversations.of(found)


def select(found: Conversations, wanted: Wanted, beside: Conversations | None = None) -> list[Judged]:
    """The conversations that pass a filter, failures first; `beside` are those of a run that outcomes may `differ` from."""
    chosen = [item for name, item in found.items.items() if _passes(name, item, found, wanted, beside)]
    return sorted(chosen, key=lambda item: _ORDER[found.ended[item.name]])


def differ(name: str, one: Conversations, other: Conversations | None) -> bool:
    """Whether a conversation ended in another way in two runs that both have it."""
    return other is not None and name in other.ended and one.ended[name] != other.ended[name]


def choices(found: Conversations, field: str) -> list[str]:
    """The values of a field in the order of their first conversation."""
    return list(dict.fromkeys(value for item in found.items.values() if (value := getattr(item.instance, field))))


def first_words(item: Judged) -> str:
    """What was asked first, cut."""
    text = next((message.content for message in item.response.messages if message.role == "user"), "")
    return shortened(text, 90)


def _ended(item: Judged) -> str:
    if not item.response.model:
        return UNANSWERED
    passed = item.passed
    return next(name for name, state in OUTCOMES.items() if passed is state)


def _passes(name: str, item: Judged, found: Conversations, wanted: Wanted, beside: Conversations | None) -> bool:
    text = wanted.failed.casefold().strip()
    return (
        wanted.language in ("", item.instance.language)
        and wanted.category in ("", item.instance.category)
        and (differ(name, found, beside) if wanted.outcome == DIFFER else wanted.outcome in ("", found.ended[name]))
        and (not text or any(text in criterion.casefold() for criterion in _failed(item)))
    )


def _failed(item: Judged) -> list[str]:
    """The criteria that were not met; all of them where no model was asked."""
    verdicts = [verdict for turn in item.verdicts for verdict in turn]
    labels = [label for turn in item.outcomes for label in turn]
    told = zip(verdicts, labels, strict=True)
    return [verdict.criterion.text for verdict, label in told if label == "no" or not item.response.model]


def _read(file: Path, name: str) -> dict[str, Judged]:
    """The conversations of the model of the line of this name, whose file may hold those of others."""
    reader, found = Reader(), dict[str, dict[str, Judged]]()
    try:
        with file.open("rb") as content:
            for where, line in jsonl.lines(content, file.name):
                item, _ = reader.judged(runs.loads(line.decode("utf-8")), where)
                found.setdefault(item.response.model, {})[item.name] = item
    except (OSError, ValueError, RecursionError, UserError) as error:
        raise UserError("the judgments of this run cannot be read") from error
    shown = anonymous.names(found)
    return (of_entry({shown[model]: items for model, items in found.items()}, name) if found else None) or {}
