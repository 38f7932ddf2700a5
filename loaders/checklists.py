"""Checklists (paper 004, TICK): an instruction, responses, checklists by author, and what people and judges said.

The mini set has 28 instructions written for this project, with two responses each.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files
from operator import itemgetter

import datasets
from pydantic import ConfigDict

from truebench_hf.data import row_files
from truebench_hf.data.checklist_rows import ChecklistRow
from truebench_hf.data.rows import Record
from truebench_hf.loaders.builders import Builder, Data, Row, SourceBuilder, configs

TEXT, WHOLE = datasets.Value("string"), datasets.Value("int64")
ABOUT = {"response_id": TEXT, "checklist_id": TEXT}
FEATURES = datasets.Features(
    {
        "id": TEXT,
        "language": TEXT,
        "category": TEXT,
        "messages": datasets.List({"role": TEXT, "content": TEXT}),
        "responses": datasets.List({"id": TEXT, "model": TEXT, "text": TEXT}),
        "checklists": datasets.List(
            {
                "id": TEXT, "author": TEXT, "source": TEXT, "run": WHOLE, "chosen": datasets.Value("bool"),
                "questions": datasets.List(TEXT),
            }
        ),
        "categories": datasets.List(
            {"checklist_id": TEXT, "annotator": TEXT, "categories": datasets.List(datasets.List(TEXT))}
        ),
        "answers": datasets.List({**ABOUT, "annotator": TEXT, "answers": datasets.List(TEXT)}),
        "judgments": datasets.List(
            {**ABOUT, "judge": TEXT, "mode": TEXT, "sample": WHOLE, "answers": datasets.List(TEXT)}
        ),
        "preferences": datasets.List({"annotator": TEXT, "response_a": TEXT, "response_b": TEXT, "rating": WHOLE}),
        "ratings": datasets.List(
            {**ABOUT, "annotator": TEXT, "protocol": TEXT, "score": WHOLE, "effect": TEXT}
        ),
        "label_source": TEXT,
    }
)  # fmt: skip


class PublishedEntry(ChecklistRow):
    """A row of a set that others will read: a column that it does not have is refused."""

    model_config = ConfigDict(extra="forbid")


def row(record: Record) -> Row:
    """One row with all columns; see `checklist_rows` for what it may leave out. Raises UserError naming place and field."""
    made = record.read(PublishedEntry).model_dump(mode="json")
    return {name: made[name] for name in FEATURES}


def totals(data: Data) -> dict[str, int]:
    """How much there is of each part of the rows."""
    every = data["all"]["test"]

    def answered(column: str) -> int:
        return sum(label is not None for its in every.column(column) for entry in its for label in entry["answers"])

    return {
        "instructions": len(every),
        "responses": sum(map(len, every.column("responses"))),
        "checklists": sum(map(len, every.column("checklists"))),
        "questions": sum(len(one["questions"]) for checklists in every.column("checklists") for one in checklists),
        "answers": answered("answers"),
        "recorded answers of judges": answered("judgments"),
        "preferences": sum(map(len, every.column("preferences"))),
        "ratings": sum(map(len, every.column("ratings"))),
    }


class Checklists(SourceBuilder):
    """`source`: a JSONL or Parquet file in these columns."""

    BUILDER_CONFIGS = configs("all")
    NAME, FEATURES, COUNTED, totals = "checklists", FEATURES, ("language", "category"), staticmethod(totals)
    NEEDS = "a JSONL or Parquet file in the columns of checklists_mini"

    def rows(self) -> Iterator[Row]:
        found = row_files.the_one(self.found(), self.name_of_source)
        return self.sifted(found, lambda record: [row(record)], key=itemgetter("id"))


class ChecklistsMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all")
    NAME, FEATURES, COUNTED, totals = "checklists_mini", FEATURES, ("language", "category"), staticmethod(totals)

    def rows(self) -> Iterator[Row]:
        with as_file(files("truebench_hf.benchmarks.tick") / "checklists_mini.jsonl") as path:
            yield from map(row, row_files.records(path))
