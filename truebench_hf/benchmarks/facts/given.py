"""Answers that are there already: logs of retrieval to be graded, and baseline answers from a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from truebench_hf.benchmarks.facts import data
from truebench_hf.benchmarks.facts.data import Item
from truebench_hf.benchmarks.facts.rows import FactsRow, read
from truebench_hf.data import row_files
from truebench_hf.data.answer_files import Answers, of_row, read_answers
from truebench_hf.data.case import as_answered
from truebench_hf.data.given_responses import matched, of_model
from truebench_hf.data.records import JUDGMENTS
from truebench_hf.data.row_formats import what_is
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.types import Response


@dataclass(frozen=True, slots=True)
class Task:
    """An item to be answered, or with an answer that is there; `baseline` is its baseline answer, if known.

    Several answers to one item have ids of their own, and share the `document`: the id of the item.
    """

    item: Item
    document: str
    response: Response | None = None
    baseline: str | None = None


def given_answers(path: str, items: Sequence[Item] | None, model_name: str | None = None) -> tuple[str, list[Task]]:
    """(whose they are, the answers of a file in the order of the data), each with what it must rest on.

    Rows belong to the item of their id, unless they show another request, or else to the one item with their request.
    What a row itself says was retrieved takes the place of the item's document. Without items every row must say so. An
    item without an answer has that for its error. Raises UserError where rows cannot be used, belong to nothing, or are
    of several models and `model_name` is none of them.
    """
    file = _file(path, "--answers")
    model, rows = of_model(list(read_answers(file)), model_name, path, file.stem)
    if not rows:
        raise UserError(f"{path}: holds no answers")
    pairs = _by_themselves(rows, file.parent) if items is None else _matched(items, rows, path)
    tasks = [task for item, own in pairs for task in _tasks_of_item(item, own, model, file)]
    return model, tasks


def given_baselines(path: str, items: Sequence[Item]) -> dict[str, str]:
    """The baseline answers of a file by item. Raises UserError where it has none to any item, or two to one."""
    by_id: dict[str, str] = {}
    for item, rows in _matched(items, list(_baselines(_file(path, "--baseline"))), path):
        texts = list(dict.fromkeys(text for row in rows if (text := _text(row) or "").strip()))
        if len(texts) > 1:
            raise UserError(f"{path}: has {len(texts)} baseline answers to item {item.id}; leave one")
        if texts:
            by_id[item.id] = texts[0]
    return by_id


def _baselines(file: Path) -> Iterator[Answers]:
    """Rows of answers, a column `baseline` ahead of all others."""
    for record in row_files.records(file):
        own = {"response": record.row["baseline"]} if record.row.get("baseline") else {}
        yield of_row({**record.row, **own}, record.where)


def _file(path: str, flag: str) -> Path:
    """The file, or the answers of a run folder."""
    place = Path(path)
    place = place / JUDGMENTS if place.is_dir() else place
    if what_is(place) not in ("file", "stream"):
        raise UserError(f"{flag} {path}: no such file, nor a run folder with {JUDGMENTS}")
    return place


def _by_themselves(rows: Sequence[Answers], folder: Path) -> list[tuple[Item, list[Answers]]]:
    """Items made of the rows; equal ids with equal sources are one item with several answers."""
    by_id: dict[str, tuple[Item, list[Answers]]] = {}
    for row in rows:
        item = data.of_row(Record(row.where, row.row), row.id or "", folder, ", or give what was asked by --data")
        held, own = by_id.setdefault(item.id, (item, []))
        if held.source != item.source:
            raise UserError(
                f"{row.where}: id {item.id} stands twice with another document or request; give ids of their own"
            )
        own.append(row)
    return list(by_id.values())


def _matched(items: Sequence[Item], rows: Sequence[Answers], path: str) -> list[tuple[Item, list[Answers]]]:
    """Every item with the rows that belong to it."""
    answers_by_id = matched({item.id: [item.source.request] for item in items}, rows, path)
    return [(item, answers_by_id.get(item.id, [])) for item in items]


def _tasks_of_item(item: Item, rows: Sequence[Answers], model: str, file: Path) -> list[Task]:
    """The different answers to an item, the first under its id."""
    different: dict[str, Answers] = {}
    for row in rows:
        if (text := _text(row)) is not None:
            different.setdefault(text, row)
    texts: list[tuple[str | None, Answers | None]] = [*different.items()] or [(None, None)]
    names = [item.id, *(f"{item.id}#{number}" for number in range(2, len(texts) + 1))]
    return [
        _one(replace(item, id=name), text, row, model, file, item.id)
        for name, (text, row) in zip(names, texts, strict=True)
    ]


def _one(item: Item, text: str | None, row: Answers | None, model: str, file: Path, document: str) -> Task:
    retrieved = read(Record(row.where, row.row), FactsRow).source if row else None
    if retrieved:
        item = replace(
            item, source=replace(item.source, document=retrieved.document, passages=retrieved.passages), length=None
        )
    error = None if text is not None else f"no answer in {file.name}"
    thinking = row.thinking[:1] if row and text is not None else ()
    messages = as_answered(item.instance, [] if text is None else [text])
    return Task(item, document, Response(item.id, model, messages, thinking, error=error))


def _text(row: Answers) -> str | None:
    """The one answer of a row. Raises UserError where it has several turns."""
    texts = (row.answers,) if isinstance(row.answers, str) else row.answers or (None,)
    if len(texts) > 1:
        raise UserError(f"{row.where}: holds {len(texts)} answers; give one to each request")
    return texts[0]
