"""The data of the studies that hold checklists against each other, judges and people: rows of the `checklists` form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from truebench_hf.data import catalogue, instances, row_files, sources
from truebench_hf.data.case import as_answered, stated, with_history
from truebench_hf.data.catalogue import located
from truebench_hf.data.checklist_rows import Entry, read
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.study.items import Items
from truebench_hf.types import Message

MINI = "checklists_mini"
DATA_HELP = (
    "checklists_mini, rows in its columns (a path to JSONL, JSON or Parquet, or a Hub id), rows with a prompt and "
    "criteria, or SOURCE:PATH of a benchmark with questions by people (structflowbench, infobench, wildbench ...)."
)


def load_entries(data: str, left_out: list[str] | None = None) -> list[Entry]:
    """The rows of some data. Raises UserError naming the row and the field.

    A checklist is for one instruction: rows with several turns to be answered are added to `left_out`, or an error.
    """
    if sources.is_source(data):
        kind, _, path = data.partition(":")
        records: Iterable[Record] = _of_source(kind, path, left_out)
    elif catalogue.built(data, MINI):
        records = row_files.records(Path(__file__).with_name(f"{MINI}.jsonl"))
    else:
        records = row_files.one_split(located(data), (MINI, "truebench_mini", "truebench"))
    found: dict[str, Entry] = {}
    for number, record in enumerate(records, 1):
        clean = Record(record.where, dict(record.row), record.number)
        whole = clean if "checklists" in clean.row else _of_criteria(clean, str(number))
        if isinstance(whole, str):
            if left_out is None:
                raise UserError(f"{whole}; a checklist is for one instruction: leave the row out")
            left_out.append(whole)
            continue
        entry = read(whole)
        if entry.id in found:
            raise UserError(f"{record.where}: id {entry.id!r} stands twice; every row needs its own")
        found[entry.id] = entry
    if not found:
        why = "all rows have several turns; a checklist is for one instruction" if left_out else "holds no rows"
        raise UserError(f"--data {data}: {why}")
    return list(found.values())


def entry_items(entries: Sequence[Entry], left_out: Sequence[str] = ()) -> Items[Entry]:
    """The items of a study: a sample keeps the shares of languages and categories."""
    return Items(
        entries, lambda entry: entry.id, lambda entry: dict(entry.row), lambda entry: (entry.language, entry.category),
        left_out=tuple(left_out),
    )  # fmt: skip


def _of_criteria(record: Record, number: str) -> Record | str:
    """A row with a prompt and criteria: these are its chosen checklist. A text says why it cannot be used."""
    instance = instances.of_row(record, number)
    if len(instance.turns) != 1:
        return f"{record.where}: has {len(instance.turns)} turns to be answered"
    *before, asked = with_history(instance, as_answered(instance, ("",)))[:-1]
    shown = f"{instance.context}\n\n{asked.content}" if instance.context else asked.content
    said = [asdict(message) for message in (*before, Message("user", shown))]
    questions = list(map(stated, instance.turns[0].criteria))
    row = {"id": instance.id, "language": instance.language, "category": instance.category, "messages": said}
    return Record(record.where, row | {"checklists": _chosen("data", questions) if questions else []}, record.number)


def _chosen(author: str, questions: list[str]) -> list[dict[str, Any]]:
    return [{"id": "c1", "author": author, "source": "human", "run": 1, "chosen": True, "questions": questions}]


def _of_source(kind: str, path: str, left_out: list[str] | None) -> Iterator[Record]:
    """The instructions of a benchmark with its questions as the chosen checklist, and what answers it ships.

    A fault (negative points) is no question of a checklist, whose best answer is always yes: those are `left_out`.
    """
    rows: dict[str, dict[str, Any]] = {}
    read = sources.read(kind, path)
    faults = sum(criterion.weight < 0 for item in read for criterion in item.case.criteria)
    if faults and left_out is not None:
        left_out.append(f"{kind}: {faults} criteria that name a fault, which is no question of a checklist")
    for item in read:
        wanted = [rubric for rubric in item.rubrics if item.case.criteria[rubric.index].weight > 0]
        author = item.source or kind
        row = rows.setdefault(
            item.instruction_id,
            {
                "id": item.instruction_id, "language": item.language, "category": item.category,
                "messages": [asdict(message) for message in item.messages], "responses": [],
                "checklists": _chosen(author, [rubric.text for rubric in wanted]) if wanted else [],
            },
        )  # fmt: skip
        text = item.case.response if item.answered else item.reference
        if text:
            row["responses"].append({"id": item.id, "model": item.model or author, "text": text})
        kinds = [[name.strip() for name in rubric.hint.split(",") if name.strip()] for rubric in wanted]
        if any(kinds):
            row["categories"] = [{"checklist_id": "c1", "annotator": author, "categories": kinds}]
    for number, row in enumerate(rows.values()):
        yield Record(f"{kind}:{path}, {row['id']}", row, number)
