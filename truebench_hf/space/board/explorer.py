"""Instances and conversations to look through: rows of a run, filters, and one instance at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf import jsonl
from truebench_hf.errors import UserError
from truebench_hf.records import Reader
from truebench_hf.space.board import papers, runs
from truebench_hf.space.board.runs import Entry

Row = Mapping[str, Any]  # a line of judgments.jsonl
SAMPLE = "sample"  # the key of the built-in instances, which no model has answered
OUTCOMES = {"passed": True, "failed": False, "unscored": None}
_KEPT = 4
_HEADERS = ("ID", "Language", "Category", "Outcome", "First words")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows are shown; an empty field sets no limit. `failed` is text in a criterion that was not met."""

    languages: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    outcome: str = ""
    failed: str = ""


class Shelf:
    """The rows of the runs looked at last, so that a click does not read a file again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, tuple[tuple[int, ...], dict[str, Row]]] = OrderedDict()
        self._lock = threading.Lock()

    def rows(self, entry: Entry | None) -> dict[str, Row]:
        """Instance id -> row of a run, in file order; without a run the built-in sample. Raises UserError."""
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


def sample() -> dict[str, Row]:
    """The built-in instances in the form of rows that nobody has answered."""
    return {str(row["index"]): _unanswered(row) for row in papers.mini()}


def select(rows: Mapping[str, Row], wanted: Wanted) -> list[Row]:
    """The rows that pass a filter, in their order."""
    return [row for row in rows.values() if _passes(row, wanted)]


def listing(chosen: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """(headers, one line per row) for the list to choose from."""
    return list(_HEADERS), [
        [str(row["id"]), row["language"], row["category"], outcome(row), _first_words(row)] for row in chosen
    ]


def outcome(row: Row) -> str:
    """`passed`, `failed`, `unscored`, or `not answered` for instances without a model."""
    if row.get("instance_only"):
        return "not answered"
    return next(name for name, passed in OUTCOMES.items() if row["passed"] is passed)


def choices(rows: Mapping[str, Row], field: str) -> list[str]:
    """The values of a field in the order of their first row."""
    return list(dict.fromkeys(row[field] for row in rows.values()))


def neighbour(chosen: Sequence[Row], current: str, step: int) -> str:
    """The id `step` rows on from `current` in a selection, stopping at its ends; the first when `current` is not in."""
    ids = [str(row["id"]) for row in chosen]
    if not ids:
        return ""
    if current not in ids:
        return ids[0]
    return ids[min(max(ids.index(current) + step, 0), len(ids) - 1)]


def _passes(row: Row, wanted: Wanted) -> bool:
    text = wanted.failed.casefold().strip()
    return (
        (not wanted.languages or row["language"] in wanted.languages)
        and (not wanted.categories or row["category"] in wanted.categories)
        and (not wanted.outcome or (not row.get("instance_only") and outcome(row) == wanted.outcome))
        and (not text or any(text in criterion.casefold() for criterion in _failed(row)))
    )


def _failed(row: Row) -> list[str]:
    wanted = (None,) if row.get("instance_only") else ("no",)  # without a model: any criterion
    return [v["criterion"] for turn in row["verdicts"] for v in turn if v["label"] in wanted]


def _first_words(row: Row) -> str:
    text = next((m["content"] for m in row["messages"] if m["role"] == "user"), "")
    text = " ".join(text[:400].split())
    return text if len(text) <= 90 else f"{text[:89]}…"


def _read(file: Path) -> dict[str, Row]:
    reader, rows = Reader(), dict[str, Row]()
    try:
        with file.open("rb") as content:
            for where, line in jsonl.lines(content, file.name):
                row = reader.row(runs.loads(line.decode("utf-8")), where)
                rows[row["id"]] = row
    except (OSError, ValueError, RecursionError, UserError) as error:
        raise UserError("the judgments of this run cannot be read") from error
    return rows


def _unanswered(row: Row) -> Row:
    messages = [{"role": "user", "content": prompt} for prompt in row["input"]]
    verdicts = [
        [{"criterion": text, "label": None, "reason": "", "probability": None} for text in turn]
        for turn in row["criteria"]
    ]
    return {
        "id": str(row["index"]), "language": row["language"], "category": row["category"],
        "task": row["sub_category"], "model": "", "judge": "", "passed": None, "error": None, "truncated": [],
        "messages": messages, "reasoning": [], "verdicts": verdicts, "instance_only": True,
    }  # fmt: skip
