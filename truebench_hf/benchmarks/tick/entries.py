"""Rows of the `checklists` form: which data has them, who wrote checklists in them, and who answered these."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from truebench_hf.benchmarks.tick.checklists import rows_of
from truebench_hf.data import instances, sources
from truebench_hf.data.checklist_rows import ChecklistRow, Text, Written, read
from truebench_hf.data.judged import as_answered, stated, with_history
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.metrics.binary import mean_of
from truebench_hf.study.items import Items
from truebench_hf.types import Label, Message

DATA_HELP = (
    "checklists_mini, rows in its columns (a path to JSONL, JSON or Parquet, or a Hub id), rows with a prompt and "
    "criteria, or SOURCE:PATH of a benchmark with questions by people (structflowbench, infobench, wildbench ...)."
)


def load_entries(data: str, left_out: list[str] | None = None) -> list[ChecklistRow]:
    """The rows of some data. Raises UserError naming the row and the field.

    A checklist is for one instruction: rows with several turns to be answered are added to `left_out`, or an error.
    """
    if sources.is_source(data):
        kind, _, path = data.partition(":")
        records: Iterable[Record] = _published_records(kind, path, left_out)
    else:
        records = rows_of(data)
    by_id: dict[str, ChecklistRow] = {}
    for number, record in enumerate(records, 1):
        complete = record if "checklists" in record.row else _as_checklist_row(record, str(number))
        if isinstance(complete, str):
            if left_out is None:
                raise UserError(f"{complete}; a checklist is for one instruction: leave the row out")
            left_out.append(complete)
            continue
        entry = read(complete)
        if entry.id in by_id:
            raise UserError(f"{record.where}: id {entry.id!r} stands twice; every row needs its own")
        by_id[entry.id] = entry
    if not by_id:
        why = "all rows have several turns; a checklist is for one instruction" if left_out else "holds no rows"
        raise UserError(f"--data {data}: {why}")
    return list(by_id.values())


def entry_items(entries: Sequence[ChecklistRow], left_out: Sequence[str] = ()) -> Items[ChecklistRow]:
    """The items of a study: a sample keeps the shares of languages and categories."""
    return Items(
        entries, lambda entry: entry.id, lambda entry: dict(entry.row), lambda entry: (entry.language, entry.category),
        left_out=tuple(left_out),
    )  # fmt: skip


def _as_checklist_row(record: Record, number: str) -> Record | str:
    """A row with a prompt and criteria: these are its chosen checklist. A text says why it cannot be used."""
    instance = instances.of_row(record, number)
    if len(instance.turns) != 1:
        return f"{record.where}: has {len(instance.turns)} turns to be answered"
    *before, prompt = with_history(instance, as_answered(instance, ("",)))[:-1]
    user_text = f"{instance.context}\n\n{prompt.content}" if instance.context else prompt.content
    messages = [asdict(message) for message in (*before, Message("user", user_text))]
    questions = list(map(stated, instance.turns[0].criteria))
    row = {"id": instance.id, "language": instance.language, "category": instance.category, "messages": messages}
    return Record(record.where, row | {"checklists": _chosen("data", questions) if questions else []}, record.number)


def _chosen(author: str, questions: list[str]) -> list[dict[str, Any]]:
    return [{"id": "c1", "author": author, "source": "human", "run": 1, "chosen": True, "questions": questions}]


def _published_records(kind: str, path: str, left_out: list[str] | None) -> Iterator[Record]:
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


def others(entry: ChecklistRow) -> list[Written]:
    """The checklists of a row that are not the chosen one."""
    return [checklist for checklist in entry.checklists if not checklist.chosen]


def answerers(entries: Sequence[ChecklistRow]) -> list[str]:
    """Who answered checklists: people (their majority), and every judge."""
    people = ["people"] if any(entry.answers for entry in entries) else []
    return people + list(dict.fromkeys(judgment.by for entry in entries for judgment in entry.judgments))


def answered(entry: ChecklistRow, response: Text, checklist: Written, by: str) -> Sequence[Label | None] | None:
    """The answers of people or of a judge, with reasoning where it has it and of several draws the first."""
    if by == "people":
        return entry.people(response, checklist)
    about = by, response.id, checklist.id
    judgments = [j for j in entry.judgments if (j.by, j.response_id, j.checklist_id) == about]
    first = min(judgments, key=lambda judgment: (judgment.mode != "reasoning", judgment.sample), default=None)
    return first.answers if first else None


def score(entry: ChecklistRow, response: Text) -> float | None:
    """The mean of the annotators' direct scores of a response."""
    about = response.id, "direct"
    return mean_of(*(rating.score for rating in entry.ratings if (rating.response_id, rating.protocol) == about))
