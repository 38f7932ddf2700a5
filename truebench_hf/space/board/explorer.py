"""Conversations to look through: those of a run, filters, and one at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from truebench_hf import jsonl
from truebench_hf.benchmarks.truebench import data
from truebench_hf.errors import UserError
from truebench_hf.records import Judged, Reader, unanswered
from truebench_hf.space.board import runs
from truebench_hf.space.board.runs import Entry
from truebench_hf.types import Message, Response

SAMPLE = "sample"  # the key of the built-in instances, which no model has answered
OUTCOMES = {"passed": True, "failed": False, "unscored": None}
_KEPT = 4
_HEADERS = ("ID", "Language", "Category", "Outcome", "First words")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which conversations are shown; an empty field sets no limit. `failed` is text in a criterion that was not met."""

    languages: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    outcome: str = ""
    failed: str = ""


class RecentRuns:
    """The conversations of the runs looked at last, so that a click does not read a file again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, ...], dict[str, Judged]]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, entry: Entry | None) -> dict[str, Judged]:
        """By name (the instance's id, behind it which sample), in file order; without a run the built-in sample. Raises UserError."""
        if entry is None:
            return sample()
        if entry.folder is None:
            raise UserError("this entry has no conversations to show")
        mark = runs.stamp(entry.folder)
        with self._lock:
            kept = self._kept.get(entry.key)
            if kept is None or kept[0] != mark:
                kept = mark, _read(entry.folder / "judgments.jsonl")
                self._kept[entry.key] = kept
            self._kept.move_to_end(entry.key)
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return kept[1]


def sample() -> dict[str, Judged]:
    """The built-in instances as conversations that no model has had: theirs has no name."""
    found = {}
    for instance in data.load("mini"):
        asked = Response(instance.id, "", tuple(Message("user", turn.prompt) for turn in instance.turns))
        found[instance.id] = Judged(instance, asked, tuple(unanswered(instance, asked)))
    return found


def select(items: Mapping[str, Judged], wanted: Wanted) -> list[Judged]:
    """The conversations that pass a filter, in their order."""
    return [item for item in items.values() if _passes(item, wanted)]


def listing(chosen: Sequence[Judged]) -> tuple[list[str], list[list[str]]]:
    """(headers, one line per conversation) for the list to choose from."""
    return list(_HEADERS), [
        [item.name, item.instance.language, item.instance.category, outcome(item), _first_words(item)]
        for item in chosen
    ]


def outcome(item: Judged) -> str:
    """`passed`, `failed`, `unscored`, or `not answered` for instances without a model."""
    if not item.response.model:
        return "not answered"
    return next(name for name, passed in OUTCOMES.items() if item.passed is passed)


def choices(items: Mapping[str, Judged], field: str) -> list[str]:
    """The values of a field in the order of their first conversation."""
    return list(dict.fromkeys(getattr(item.instance, field) for item in items.values()))


def neighbour(chosen: Sequence[Judged], current: str, step: int) -> str:
    """The name `step` places on from `current` in a selection, stopping at its ends; the first when `current` is not in."""
    ids = [item.name for item in chosen]
    if not ids:
        return ""
    if current not in ids:
        return ids[0]
    return ids[min(max(ids.index(current) + step, 0), len(ids) - 1)]


def _passes(item: Judged, wanted: Wanted) -> bool:
    text = wanted.failed.casefold().strip()
    return (
        (not wanted.languages or item.instance.language in wanted.languages)
        and (not wanted.categories or item.instance.category in wanted.categories)
        and (not wanted.outcome or outcome(item) == wanted.outcome)
        and (not text or any(text in criterion.casefold() for criterion in _failed(item)))
    )


def _failed(item: Judged) -> list[str]:
    """The criteria that were not met; all of them where no model was asked."""
    verdicts = [verdict for turn in item.verdicts for verdict in turn]
    labels = [label for turn in item.outcomes for label in turn]
    told = zip(verdicts, labels, strict=True)
    return [verdict.criterion.text for verdict, label in told if label == "no" or not item.response.model]


def _first_words(item: Judged) -> str:
    text = next((message.content for message in item.response.messages if message.role == "user"), "")
    text = " ".join(text[:400].split())
    return text if len(text) <= 90 else f"{text[:89]}…"


def _read(file: Path) -> dict[str, Judged]:
    reader, found = Reader(), dict[str, Judged]()
    try:
        with file.open("rb") as content:
            for where, line in jsonl.lines(content, file.name):
                item, _ = reader.judged(runs.loads(line.decode("utf-8")), where)
                found[item.name] = item
    except (OSError, ValueError, RecursionError, UserError) as error:
        raise UserError("the judgments of this run cannot be read") from error
    return found
