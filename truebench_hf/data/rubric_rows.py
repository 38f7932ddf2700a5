"""Rows of rubric_eval, one rubric of a response each: their grammar, and how they are put together by response.

What a row leaves out is derived where that is certain. Paper 003, section 3.1.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from truebench_hf.data.case import Case
from truebench_hf.data.instances import rule_in
from truebench_hf.data.rows import Record
from truebench_hf.data.rubric_items import Item, Rubric
from truebench_hf.data.rubric_types import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES
from truebench_hf.errors import UserError
from truebench_hf.hashing import canonical, digest
from truebench_hf.types import Criterion, Message

Row = dict[str, Any]
COLUMNS = (
    "id", "instruction_id", "response_id", "response_model", "instruction_category", "source_benchmark", "language",
    "messages", "context", "reference", "response", "checklist", "rubric_index", "rubric", "rubric_type", "dimension",
    "label", "label_source", "annotations", "rationales",
)  # fmt: skip


def checked(record: Record, unanswered: bool = False) -> Row:
    """What a row says, checked: messages, response, instruction_category, and rubric or rubric_index are needed.

    Where they are absent, ids are made of the content and all else is None or "". `unanswered` rows may be without
    response, as long as they have no label. Raises UserError naming where the row stands and the field.
    """
    messages, response = record.messages("messages"), record.row.get("response")
    if messages[-1].role != "user":
        raise record.wrong("messages", "must end with the user's message that was answered")
    label = record.label("label")
    if not isinstance(response, str) and not (unanswered and response is None and label is None):
        raise record.wrong("response", "must be a text")
    checklist = record.texts("checklist") if record.row.get("checklist") else None
    place = None if checklist is None else place_in(checklist, record)
    kind = one_of(record, "rubric_type", RUBRIC_TYPES) if record.row.get("rubric_type") not in (None, "") else None
    model = _id(record, "response_model", "")
    plain = [{"role": message.role, "content": message.content} for message in messages]
    return {
        "id": _id(record, "id", ""),
        "instruction_id": _id(record, "instruction_id", digest(canonical(plain))[:12]),
        # Two models may say the same.
        "response_id": _id(
            record, "response_id", digest(canonical([plain, response, *([model] if model else [])]))[:16]
        ),
        "response_model": model,
        "instruction_category": one_of(record, "instruction_category", INSTRUCTION_CATEGORIES),
        "source_benchmark": record.maybe("source_benchmark") or "",
        "language": record.maybe("language") or "",
        "messages": plain,
        "context": record.maybe("context"),
        "reference": record.maybe("reference"),
        "response": response,
        "checklist": checklist,
        "rubric_index": place,
        "rubric": record.text("rubric") if checklist is None or place is None else checklist[place],
        "rubric_type": kind,
        "dimension": _dimension(record, kind),
        "label": label,
        "split": record.maybe("split") or "",
        "source_label": record.maybe("source_label") or "",
        "rule": rule_in(record),
    }


def place_in(checklist: list[str], record: Record) -> int:
    """The place of a row's rubric in the checklist, by its number or its text."""
    rubric, index = record.maybe("rubric"), record.row.get("rubric_index")
    if isinstance(index, str):  # as CSV holds numbers
        index = int(index) if index.strip().isdecimal() else index.strip() or None
    if index is None and rubric is not None and checklist.count(rubric) == 1:
        return checklist.index(rubric)
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(checklist):
        raise record.wrong("rubric_index", f"must be a place in 'checklist', 0 to {len(checklist) - 1}")
    if rubric is not None and rubric != checklist[index]:
        raise record.wrong("rubric", f"is not entry {index} of 'checklist'")
    return index


def one_of(record: Record, name: str, names: Collection[str]) -> str:
    """One of `names`, in any case and with blanks or hyphens for underscores; a number counts from 0, as Parquet does."""
    value = record.row.get(name)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return list(names)[value]
    folded = re.sub(r"[\s-]+", "_", value.strip().casefold()) if isinstance(value, str) else None
    if folded not in names:
        said = "must be one" if value is None else f"is {value!r}, which is none"
        raise record.wrong(name, f"{said} of {', '.join(names)}")
    return str(folded)


def _id(record: Record, name: str, derived: str) -> str:
    return derived if record.row.get(name) in (None, "") else record.id(name)


def _dimension(record: Record, kind: str | None) -> str | None:
    if kind is None:
        return None
    dimension = RUBRIC_TYPES[kind].dimension
    if record.row.get("dimension") is not None and one_of(record, "dimension", DIMENSIONS) != dimension:
        raise record.wrong("dimension", f"must be {dimension}, the dimension of {kind}")
    return dimension


@dataclass
class _Response:
    """The rows of a response so far: the first of them, where it stands, and a rubric of each."""

    where: str
    first: Row
    rubrics: list[Rubric] = field(default_factory=list)
    rules: dict[int, str | None] = field(default_factory=dict)  # by place in the checklist

    def add(self, row: Row, record: Record) -> Rubric:
        for column in ("messages", "context", "reference", "response", "checklist"):
            if row[column] != self.first[column]:
                raise record.wrong(
                    column, f"differs from that of {self.where}, of the same response {row['response_id']}"
                )
        # Without a checklist, the rubrics of the rows are it.
        texts = self.first["checklist"] or list(dict.fromkeys([*(r.text for r in self.rubrics), row["rubric"]]))
        place = place_in(texts, record)
        if any(rubric.index == place for rubric in self.rubrics):
            raise UserError(
                f"{record.where}: response {row['response_id']} has more than one row for rubric_index {place}; remove one"
            )
        facts = (row["label"], row["rubric_type"], row["split"], row["source_label"])
        self.rules[place] = row["rule"]
        return Rubric(row["id"] or f"{row['response_id']}-c{place}", place, texts[place], *facts, record.row)

    @property
    def item(self) -> Item:
        row, kinds = self.first, {rubric.index: rubric.kind for rubric in self.rubrics}
        texts = row["checklist"] or [rubric.text for rubric in self.rubrics]
        messages = [Message(**message) for message in row["messages"]]
        case = Case(
            messages[-1].content, row["response"] or "",
            tuple(Criterion(text, kinds.get(i), rule=self.rules.get(i)) for i, text in enumerate(texts)),
            tuple(messages[:-1]),
            row["context"], row["instruction_category"], row["reference"],
        )  # fmt: skip
        return Item(
            row["response_id"], row["instruction_id"], row["instruction_category"], row["language"],
            row["source_benchmark"], row["response_model"], case, tuple(self.rubrics), row["response"] is not None,
            row["reference"],
        )  # fmt: skip


class Responses:
    """Rows put together by response as they are added, in the order in which responses and rows first appear."""

    def __init__(self, unanswered: bool = False) -> None:
        self._unanswered = unanswered
        self._responses: dict[str, _Response] = {}
        self._names: dict[str, str] = {}

    def add(self, record: Record) -> None:
        """Add a row. Raises UserError on one that cannot be used; then nothing of it is kept."""
        row = checked(record, self._unanswered)
        response = self._responses.get(row["response_id"]) or _Response(record.where, row)
        rubric = response.add(row, record)
        if (before := self._names.setdefault(rubric.id, record.where)) != record.where:
            raise UserError(f"{record.where}: id {rubric.id!r} is that of {before} too; every row needs its own")
        response.rubrics.append(rubric)
        self._responses[row["response_id"]] = response

    @property
    def items(self) -> list[Item]:
        """The responses that there are rows of."""
        return [response.item for response in self._responses.values()]
