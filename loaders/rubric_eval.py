"""RubricEval (paper 003): labelled rubric judgments in two splits, with the whole checklist beside each rubric.

A judge at checklist level reads all rubrics of a response at once, so every row carries all of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import datasets

from truebench_hf.data.row_files import Rows
from truebench_hf.data.row_formats import Entry
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES
from truebench_hf.loaders import rubric_rows
from truebench_hf.loaders.builders import Builder, Row, SourceBuilder, configs
from truebench_hf.loaders.corpus import About, Corpus, Data
from truebench_hf.loaders.counts import Cell, Table
from truebench_hf.loaders.stored import Stored
from truebench_hf.report.paper import paper_rows

TEXT = datasets.Value("string")
FEATURES = datasets.Features(
    {
        "id": TEXT,
        "instruction_id": TEXT,
        "response_id": TEXT,
        "response_model": TEXT,
        "instruction_category": TEXT,
        "source_benchmark": TEXT,
        "language": TEXT,
        "messages": datasets.List({"role": TEXT, "content": TEXT}),
        "context": TEXT,
        "reference": TEXT,
        "response": TEXT,
        "checklist": datasets.List(TEXT),
        "rubric_index": datasets.Value("int64"),
        "rubric": TEXT,
        "rubric_type": datasets.ClassLabel(names=list(RUBRIC_TYPES)),
        "dimension": datasets.ClassLabel(names=list(DIMENSIONS)),
        "label": datasets.ClassLabel(names=["no", "yes"]),
        "label_source": TEXT,
        "annotations": datasets.List({"annotator": TEXT, "label": TEXT}),
        "rationales": datasets.List({"judge": TEXT, "rationale": TEXT}),
    }
)


PARTS = ("instruction_category",)


def totals(data: Data) -> dict[str, int]:
    """Instructions, responses and rubric judgments."""
    every = list(data["all"].values())
    return {
        "instructions": len({name for rows in every for name in rows.column("instruction_id")}),
        "responses": len({name for rows in every for name in rows.column("response_id")}),
        "rubric judgments": sum(map(len, every)),
    }


def about(builder: Builder, data: Data) -> About:
    """The counts by category and source benchmark, beside Tables 1 and 8 of the paper."""
    assert isinstance(builder, RubricEval)
    untyped = sum(kind is None for rows in data["all"].values() for kind in rows.column("rubric_type"))
    notes = (f"rows without rubric type: {untyped}; `truebench study taxonomy` finds one",) if untyped else ()
    return About(f"sha256 {builder.fingerprint[:12]}", notes, (beside_paper(data["all"]),))


def beside_paper(splits: Mapping[str, Stored]) -> Table:
    """Instructions and rows by category and source benchmark, each count followed by the paper's (Tables 1 and 8)."""
    paper = {
        _key(r["Category"], r["Source Benchmark"] or ""): r for r in paper_rows("rubric_eval", "rubriceval_table8")
    }
    rows: dict[tuple[str, str], Counter[str]] = {}
    instructions: dict[tuple[str, str], set[str]] = {}
    columns = ("instruction_category", "source_benchmark", "instruction_id")
    for split, table in splits.items():
        for category, source, instruction in zip(*map(table.column, columns), strict=True):
            for place in (_paper_key(category, source, paper), _key("Total", "")):
                rows.setdefault(place, Counter())[split] += 1
                instructions.setdefault(place, set()).add(instruction)
    keys = [key for key in paper if key[0] != "total"] + [key for key in rows if key not in paper] + [_key("Total", "")]
    parts = ("instructions", *splits, "total")
    head = ("category", "source", *(f"{name}{of}" for name in parts for of in ("", " (paper)")))
    lines = []
    for key in keys:
        its, theirs = rows.get(key, Counter()), paper.get(key)
        counts = {
            "#Instr.": len(instructions.get(key, ())),
            **{s.title(): its[s] for s in splits},
            "Total": its.total(),
        }
        cells: list[Cell] = [cell for name, n in counts.items() for cell in (n, theirs.get(name) if theirs else None)]
        lines.append((key[0], theirs["Source Benchmark"] if theirs else key[1], *cells))
    return Table("Counts beside Tables 1 and 8 of the paper", head, tuple(lines))


def _key(category: str, source: str) -> tuple[str, str]:
    return category.casefold().replace("-", "_"), re.sub(r"[\W_]+", "", source.casefold())


def _paper_key(category: str, source: str, paper: dict[tuple[str, str], Any]) -> tuple[str, str]:
    """The paper's row for a source, which it may name more exactly (InfoBench_hard for InfoBench)."""
    mine = _key(category, source)
    near = [k for k in paper if k[0] == mine[0] and mine[1] and (k[1].startswith(mine[1]) or mine[1].startswith(k[1]))]
    return near[0] if near else mine


class RubricEval(SourceBuilder):
    """`source`: JSONL or Parquet with a column `split`, or a folder of files named by split; `columns`: names."""

    BUILDER_CONFIGS = configs("all", *INSTRUCTION_CATEGORIES)
    FEATURES, PARTS = FEATURES, PARTS
    TAKES = (*SourceBuilder.TAKES, "columns")
    NEEDS = "a JSONL or Parquet file, or a folder with easy and hard ones"

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        present = {rubric_rows.split_of(entry) for entry in self.every() if isinstance(entry, Record)}
        splits = [split for split in rubric_rows.SPLITS if split in present]
        return [datasets.SplitGenerator(split, {"split": split}) for split in splits or rubric_rows.SPLITS[:1]]

    def every(self) -> Iterator[Entry]:
        """The rows of all splits under our names."""
        for split, rows in self.found().items():
            for entry in rows.entries():
                ours = isinstance(entry, Record)
                yield rubric_rows.renamed(entry, self.config.columns, split.casefold()) if ours else entry

    def rows(self, split: str) -> Iterator[Row]:
        def parse(record: Record) -> list[tuple[str, Row]]:
            made = rubric_rows.row(record)
            return [(record.value("split", rubric_rows.Split), made)]

        every = Rows(self.every, self.name_of_source)
        for its, row in self.sifted(every, parse, key=lambda pair: pair[1]["id"]):
            if its == split:
                yield row


COUNTED = ("language", "instruction_category", "source_benchmark", "rubric_type", "label")
CORPUS = Corpus(RubricEval, about, counted=COUNTED, totals=totals)
