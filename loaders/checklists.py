"""Checklists (paper 004, TICK): an instruction, responses, checklists by author, answers and preferences by annotator."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import datasets

from truebench_hf.errors import UserError
from truebench_hf.loaders.corpus import About, Corpus, Data, Row, SourceBuilder, configs, fingerprint
from truebench_hf.loaders.rows import fitted
from truebench_hf.loaders.usable import Usable, usable
from truebench_hf.rows import Record

TEXT = datasets.Value("string")
FEATURES = datasets.Features(
    {
        "id": TEXT,
        "instruction": TEXT,
        "language": TEXT,
        "category": TEXT,
        "responses": datasets.List({"id": TEXT, "model": TEXT, "text": TEXT}),
        "checklists": datasets.List({"author": TEXT, "questions": datasets.List(TEXT)}),
        "answers": datasets.List(
            {"response_id": TEXT, "author": TEXT, "annotator": TEXT, "answers": datasets.List(TEXT)}
        ),
        "preferences": datasets.List(
            {"annotator": TEXT, "response_a": TEXT, "response_b": TEXT, "rating": datasets.Value("int64")}
        ),
        "label_source": TEXT,
    }
)


def rows(path: Path, strict: bool = False) -> Usable[Row]:
    """The rows of a file in these columns that can be used; see `usable`."""
    return usable(path, _row, key=itemgetter("id"), strict=strict)


def _row(record: Record) -> list[Row]:
    row = fitted(record, FEATURES)
    check(row, f"{record.where}, {row['id']}")
    return [row]


def check(row: Row, where: str) -> None:
    """What the parts of a row say about each other: ids, numbers of answers, ratings from 1 to 5."""
    responses = {response["id"] for response in row["responses"]}
    lengths = {checklist["author"]: len(checklist["questions"]) for checklist in row["checklists"]}
    for entry in row["answers"]:
        if entry["response_id"] not in responses:
            raise UserError(f"{where}: field 'answers' names response {entry['response_id']!r}, which is not there")
        if lengths.get(entry["author"]) != len(entry["answers"]) or not set(entry["answers"]) <= {"yes", "no"}:
            raise UserError(f"{where}: field 'answers' must hold yes or no for each question of {entry['author']!r}")
    for preference in row["preferences"]:
        if not {preference["response_a"], preference["response_b"]} <= responses:
            raise UserError(f"{where}: field 'preferences' names a response which is not there")
        if preference["rating"] not in range(1, 6):
            raise UserError(f"{where}: field 'preferences' has the rating {preference['rating']}, not 1 to 5")


def totals(data: Data) -> dict[str, int]:
    """Instructions, responses, questions, answers and preferences."""
    every = [row for rows in data["all"].values() for row in rows]
    return {
        "instructions": len(every),
        "responses": sum(len(row["responses"]) for row in every),
        "questions": sum(len(checklist["questions"]) for row in every for checklist in row["checklists"]),
        "answers": sum(len(entry["answers"]) for row in every for entry in row["answers"]),
        "preferences": sum(len(row["preferences"]) for row in every),
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
