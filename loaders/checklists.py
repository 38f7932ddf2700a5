"""Checklists (paper 004, TICK): an instruction, responses, checklists by author, and what people and judges said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import Path

import datasets

from truebench_hf.benchmarks.tick.form import filled, read
from truebench_hf.errors import UserError
from truebench_hf.loaders.corpus import About, Corpus, Data, Row, SourceBuilder, configs, fingerprint
from truebench_hf.loaders.rows import fitted
from truebench_hf.loaders.usable import Usable, usable
from truebench_hf.rows import Record

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
# What nobody said: a question that was left open, a rating without a checklist, an effect that was not asked for.
NULLABLE = frozenset({"answers[]", "checklist_id", "effect"})


def rows(path: Path, strict: bool = False) -> Usable[Row]:
    """The rows of a file that can be used, with all columns; see `usable`, and `form` for what rows may leave out."""
    return usable(path, _row, key=itemgetter("id"), strict=strict)


def _row(record: Record) -> list[Row]:
    row = fitted(replace(record, row=filled(record.row)), FEATURES, nullable=NULLABLE)
    read(record)
    return [row]


def totals(data: Data) -> dict[str, int]:
    """How much there is of each part of the rows."""
    every = [row for rows in data["all"].values() for row in rows]

    def answered(column: str) -> int:
        return sum(label is not None for row in every for entry in row[column] for label in entry["answers"])

    return {
        "instructions": len(every),
        "responses": sum(len(row["responses"]) for row in every),
        "checklists": sum(len(row["checklists"]) for row in every),
        "questions": sum(len(checklist["questions"]) for row in every for checklist in row["checklists"]),
        "answers": answered("answers"),
        "recorded answers of judges": answered("judgments"),
        "preferences": sum(len(row["preferences"]) for row in every),
        "ratings": sum(len(row["ratings"]) for row in every),
    }


def about(source: str | None, data: Data) -> About:
    """The hash of the file."""
    return About(f"sha256 {fingerprint(source)[:12]}")


class Checklists(SourceBuilder):
    """`source`: a JSONL or Parquet file in these columns."""

    BUILDER_CONFIGS = configs("all")
    FEATURES = FEATURES
    LICENSE = ""

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        if self.config.source is None:
            raise UserError("checklists needs --source: a JSONL or Parquet file in the columns of checklists_mini")
        return [datasets.SplitGenerator("test", {"path": self.config.source})]

    def _generate_examples(self, path: str) -> Iterator[tuple[int, Row]]:
        yield from enumerate(self.noting(rows(Path(path), self.config.strict)))


CORPUS = Corpus(Checklists, about, counted=("language", "category"), totals=totals)
