"""RubricEval (paper 003): labelled rubric judgments in two splits, with the whole checklist beside each rubric.

A judge at checklist level reads all rubrics of a response at once, so every row carries all of them. The mini set is made
by `truebench_hf.benchmarks.rubric_eval.data` with seed 0; its labels are certain by construction. `pair_id` names the
contrast pair of a row. Rows of its hard split name their `trap`, and say whether they are `measurable`: decided by a
program that reads no more than rubric and response. In the easy split both are null.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Self

import datasets
from pydantic import PlainValidator, model_validator

from truebench_hf.benchmarks.rubric_eval import data as rubric_data
from truebench_hf.data.row_files import Rows
from truebench_hf.data.row_formats import Entry
from truebench_hf.data.rows import Id, MaybeText, Record, Text, Texts
from truebench_hf.data.rows import Row as FileRow
from truebench_hf.data.rubrics import COLUMNS, DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES, Kind, RubricRow, one_of
from truebench_hf.errors import unknown
from truebench_hf.loaders.builders import About, Builder, Data, Row, SourceBuilder, configs
from truebench_hf.loaders.card import table
from truebench_hf.loaders.rows import TEXT, Stored, texts
from truebench_hf.report.table import Table, paper_rows

FEATURES = texts(
    *COLUMNS,
    messages=datasets.List(texts("role", "content")), checklist=datasets.List(TEXT), rubric_index=datasets.Value("int64"),
    rubric_type=datasets.ClassLabel(names=list(RUBRIC_TYPES)), dimension=datasets.ClassLabel(names=list(DIMENSIONS)),
    label=datasets.ClassLabel(names=["no", "yes"]), annotations=datasets.List(texts("annotator", "label")),
    rationales=datasets.List(texts("judge", "rationale")),
)  # fmt: skip
_SHARED = {name: feature for name, feature in FEATURES.items() if name not in ("context", "reference")}
MINI_FEATURES = datasets.Features({**_SHARED, **texts("pair_id", "trap"), "measurable": datasets.Value("bool")})
PARTS = ("instruction_category",)
SPLITS = ("easy", "hard", "test")  # test: what did not come out of an arbitration, such as contrast pairs
Split = Annotated[str, PlainValidator(partial(one_of, SPLITS))]


def renamed(record: Record, columns: Mapping[str, str], split: str) -> Record:
    """The row under our names (`columns` maps those of `COLUMNS`, or `split`, to the file's own); a file that is named
    by a split says which it is of. Raises UserError on a name that is none of ours."""
    for ours in columns:
        if ours not in (*COLUMNS, "split"):
            raise unknown("column", ours, (*COLUMNS, "split"))
    row = {**record.row, **{ours: record.row.get(theirs) for ours, theirs in columns.items()}}
    return replace(record, row=row | ({"split": split} if split in SPLITS else {}))


def _split(value: Any) -> str | None:
    """The split of that name, None where it is none."""
    try:
        return one_of(SPLITS, value)
    except ValueError:
        return None


class Annotation(FileRow):
    """What an annotator said; no label where they gave none."""

    annotator: Text
    label: MaybeText = None


class Rationale(FileRow):
    """Why a judge said so; nothing where it gave no reason."""

    judge: Text
    rationale: MaybeText = None


class PublishedRow(RubricRow):
    """A row of which only ids of rows, places in checklists and dimensions may be left out.

    Sources name types of their own, so that arbitration leaves some rows without one; `truebench study taxonomy` finds
    it.
    """

    response: str
    instruction_id: Id
    response_id: Id
    response_model: Text
    source_benchmark: Text
    language: Text
    checklist: Texts
    rubric_type: Kind | None
    label_source: Text = "unstated"
    annotations: tuple[Annotation, ...] = ()
    rationales: tuple[Rationale, ...] = ()

    @model_validator(mode="after")
    def _is_labelled(self) -> Self:
        if self.label is None:
            raise ValueError("field 'label' must be yes or no in this set")
        return self


def row(record: Record) -> Row:
    """One row in the columns of `COLUMNS`, checked. Raises UserError naming where it stands and the field."""
    cells = record.read(PublishedRow).model_dump()
    cells["id"] = cells["id"] or f"{cells['response_id']}-c{cells['rubric_index']}"
    return {column: cells[column] for column in COLUMNS}


def totals(data: Data) -> dict[str, int]:
    """Instructions, responses and rubric judgments."""
    tables = list(data["all"].values())
    return {
        "instructions": len({name for rows in tables for name in rows.column("instruction_id")}),
        "responses": len({name for rows in tables for name in rows.column("response_id")}),
        "rubric judgments": sum(map(len, tables)),
    }


def beside_paper(splits: Mapping[str, Stored]) -> Table:
    """Instructions and rows by category and source benchmark, each count followed by the paper's (Tables 1 and 8)."""

    def key(category: str, source: str) -> tuple[str, str]:
        return category.casefold().replace("-", "_"), re.sub(r"[\W_]+", "", source.casefold())

    table8 = paper_rows("rubric_eval", "rubriceval_table8")
    paper = {key(row["Category"], row["Source Benchmark"] or ""): row for row in table8}
    rows: dict[tuple[str, str], Counter[str]] = {}
    instructions: dict[tuple[str, str], set[str]] = {}
    columns = ("instruction_category", "source_benchmark", "instruction_id")
    for split, stored in splits.items():
        for category, source, instruction in zip(*map(stored.column, columns), strict=True):
            own, name = key(category, source)
            # The paper may name a source more exactly (InfoBench_hard for InfoBench).
            near = [k for k in paper if k[0] == own and name and (k[1].startswith(name) or name.startswith(k[1]))]
            for place in ((near or [(own, name)])[0], key("Total", "")):
                rows.setdefault(place, Counter())[split] += 1
                instructions.setdefault(place, set()).add(instruction)
    places = [place for place in paper if place[0] != "total"] + [place for place in rows if place not in paper]
    parts = ("instructions", *splits, "total")
    head = ("category", "source", *(f"{name}{of}" for name in parts for of in ("", " (paper)")))
    lines = []
    for place in (*places, key("Total", "")):
        by_split, theirs = rows.get(place, Counter()), paper.get(place)
        counts = {"#Instr.": len(instructions.get(place, ())), **{split.title(): by_split[split] for split in splits}}
        counts["Total"] = by_split.total()
        cells = [cell for name, n in counts.items() for cell in (n, theirs.get(name) if theirs else None)]
        lines.append((place[0], theirs["Source Benchmark"] if theirs else place[1], *cells))
    return table("Counts beside Tables 1 and 8 of the paper", head, lines)


class RubricEval(SourceBuilder):
    """`source`: JSONL or Parquet with a column `split`, or a folder of files named by split; `columns`: names."""

    BUILDER_CONFIGS = configs("all", *INSTRUCTION_CATEGORIES)
    NAME, FEATURES, PARTS = "rubric_eval", FEATURES, PARTS
    COUNTED = ("language", "instruction_category", "source_benchmark", "rubric_type", "label")
    TAKES = (*SourceBuilder.TAKES, "columns")
    NEEDS = "a JSONL or Parquet file, or a folder with easy and hard ones"
    totals = staticmethod(totals)

    def about(self, data: Data) -> About:
        """The counts by category and source benchmark, beside Tables 1 and 8 of the paper."""
        untyped = sum(kind is None for rows in data["all"].values() for kind in rows.column("rubric_type"))
        notes = (f"rows without rubric type: {untyped}; `truebench study taxonomy` finds one",) if untyped else ()
        return About(f"sha256 {self.fingerprint[:12]}", notes, (beside_paper(data["all"]),))

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        records = (entry for entry in self.entries() if isinstance(entry, Record))
        present = {_split(record.row.get("split")) for record in records}
        splits = [split for split in SPLITS if split in present]
        return [datasets.SplitGenerator(split, {"split": split}) for split in splits or SPLITS[:1]]

    def entries(self) -> Iterator[Entry]:
        """The rows of all splits under our names."""
        for split, rows in self.found().items():
            for entry in rows.entries():
                ours = isinstance(entry, Record)
                yield renamed(entry, self.config.columns, split.casefold()) if ours else entry

    def rows(self, split: str) -> Iterator[Row]:
        def parse(record: Record) -> list[tuple[str, Row]]:
            cells = row(record)
            return [(record.value("split", Split), cells)]

        rows = Rows(self.entries, self.name_of_source)
        for own, cells in self.sifted(rows, parse, key=lambda pair: pair[1]["id"]):
            if own == split:
                yield cells


class RubricMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all", *INSTRUCTION_CATEGORIES)
    NAME, FEATURES, PARTS = "rubric_mini", MINI_FEATURES, PARTS
    COUNTED = ("language", "instruction_category", "rubric_type", "dimension", "trap", "measurable", "label")

    @staticmethod
    def totals(data: Data) -> dict[str, int]:
        """As for RubricEval, and the contrast pairs."""
        pairs = {name for table in data["all"].values() for name in table.column("pair_id")} - {""}
        return {**totals(data), "contrast pairs": len(pairs)}

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(split, {"split": split}) for split in rubric_data.SPLITS]

    def rows(self, split: str) -> Iterator[Row]:
        yield from rubric_data.mini_rows(0, split)
