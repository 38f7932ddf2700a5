"""Checklists (paper 004, TICK): an instruction, responses, checklists by author, and what people and judges said.

The mini set has 28 instructions written for this project, with two responses each.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

from truebench_hf.data.checklist_rows import MINI_FILE, ChecklistRow
from truebench_hf.data.rows import Record
from truebench_hf.loaders.builders import Builder, Data, Row, SourceBuilder, configs
from truebench_hf.loaders.rows import of_form


class PublishedEntry(ChecklistRow, extra="forbid"):
    """A row of a set that others will read: a column that it does not have is refused."""


FEATURES = of_form(PublishedEntry)


def row(record: Record) -> Row:
    """One row with all columns; see `checklist_rows` for what it may leave out. Raises UserError naming place and field."""
    return record.read(PublishedEntry).model_dump(mode="json")


def totals(data: Data) -> dict[str, int]:
    """How much there is of each part of the rows."""
    table = data["all"]["test"]

    def answered(column: str) -> int:
        return sum(label is not None for rows in table.column(column) for row in rows for label in row["answers"])

    return {
        "instructions": len(table),
        "responses": sum(map(len, table.column("responses"))),
        "checklists": sum(map(len, table.column("checklists"))),
        "questions": sum(len(checklist["questions"]) for rows in table.column("checklists") for checklist in rows),
        "answers": answered("answers"),
        "recorded answers of judges": answered("judgments"),
        "preferences": sum(map(len, table.column("preferences"))),
        "ratings": sum(map(len, table.column("ratings"))),
    }


class Checklists(SourceBuilder):
    """`source`: a JSONL or Parquet file in these columns."""

    BUILDER_CONFIGS = configs("all")
    NAME, FEATURES, COUNTED, totals = "checklists", FEATURES, ("language", "category"), staticmethod(totals)
    NEEDS = "a JSONL or Parquet file in the columns of checklists_mini"

    def rows(self) -> Iterator[Row]:
        return self.sifted(self.one_split(), lambda record: [row(record)], key=itemgetter("id"))


class ChecklistsMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all")
    NAME, FEATURES, COUNTED, totals = "checklists_mini", FEATURES, ("language", "category"), staticmethod(totals)
    FILE, row = MINI_FILE, staticmethod(row)
