"""RubricEval (paper 003): labelled rubric judgments in two splits, with the whole checklist beside each rubric.

A judge at checklist level reads all rubrics of a response at once, so every row carries all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import datasets

from truebench_hf.benchmarks.rubric_eval.rubric_types import DIMENSIONS, INSTRUCTION_CATEGORIES, RUBRIC_TYPES
from truebench_hf.errors import UserError
from truebench_hf.loaders import rubric_rows
from truebench_hf.loaders.corpus import About, Corpus, Data, Row, SourceBuilder, configs, fingerprint
from truebench_hf.loaders.counts import Cell, Table
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


def subsets(row: Row) -> tuple[str, ...]:
    """The configuration a row belongs to beside `all`: its instruction category."""
    return (row["instruction_category"],)


def totals(data: Data) -> dict[str, int]:
    """Instructions, responses and rubric judgments."""
    every = [row for rows in data["all"].values() for row in rows]
    return {
        "instructions": len({row["instruction_id"] for row in every}),
        "responses": len({row["response_id"] for row in every}),
        "rubric judgments": len(every),
    }


def about(source: str | None, data: Data) -> About:
    """The counts by category and source benchmark, beside Tables 1 and 8 of the paper."""
    untyped = sum(row["rubric_type"] is None for rows in data["all"].values() for row in rows)
    notes = (f"rows without rubric type: {untyped}; `truebench taxonomy` finds one",) if untyped else ()
    return About(f"sha256 {fingerprint(source)[:12]}", notes, (beside_paper(data["all"]),))


def beside_paper(splits: dict[str, Sequence[Row]]) -> Table:
    """Instructions and rows by category and source benchmark, each count followed by the paper's (Tables 1 and 8)."""
    paper = {
        _key(r["Category"], r["Source Benchmark"] or ""): r for r in paper_rows("rubric_eval", "rubriceval_table8")
    }
    ours: dict[tuple[str, str], list[tuple[str, Row]]] = {}
    for split, rows in splits.items():
        for row in rows:
            key = _paper_key(row["instruction_category"], row["source_benchmark"], paper)
            for place in (key, _key("Total", "")):
                ours.setdefault(place, []).append((split, row))
    keys = [key for key in paper if key[0] != "total"] + [key for key in ours if key not in paper] + [_key("Total", "")]
    head = (
        "category",
        "source",
        *(f"{name}{of}" for name in ("instructions", *splits, "total") for of in ("", " (paper)")),
    )
    return Table(
        "Counts beside Tables 1 and 8 of the paper",
        head,
        tuple(_line(k, ours.get(k, []), paper.get(k), splits) for k in keys),
    )


def _line(
    key: tuple[str, str], rows: list[tuple[str, Row]], paper: Any, splits: dict[str, Sequence[Row]]
) -> tuple[Cell, ...]:
    counts: dict[str, int] = {"#Instr.": len({row["instruction_id"] for _, row in rows})}
    counts |= {split.title(): sum(s == split for s, _ in rows) for split in splits}
    counts["Total"] = len(rows)
    name = paper["Source Benchmark"] if paper else key[1]
    cells = (cell for column, n in counts.items() for cell in (n, paper.get(column) if paper else None))
    return (key[0], name, *cells)


def _key(category: str, source: str) -> tuple[str, str]:
    return category.casefold().replace("-", "_"), re.sub(r"[\W_]+", "", source.casefold())


def _paper_key(category: str, source: str, paper: dict[tuple[str, str], Any]) -> tuple[str, str]:
    """The paper's row for a source, which it may name more exactly (InfoBench_hard for InfoBench)."""
    mine = _key(category, source)
    near = [k for k in paper if k[0] == mine[0] and mine[1] and (k[1].startswith(mine[1]) or mine[1].startswith(k[1]))]
    return near[0] if near else mine


class RubricEval(SourceBuilder):
    """`source`: a JSONL or Parquet file with a column `split`, or a folder of files named by split; `columns`: names."""

    BUILDER_CONFIGS = configs("all", *INSTRUCTION_CATEGORIES)
    FEATURES = FEATURES
    LICENSE = ""

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        if self.config.source is None:
            raise UserError("rubric_eval needs --source: a JSONL or Parquet file, or a folder with easy and hard ones")
        # Read once, for all splits: a file may hold several of them.
        source, columns = Path(self.config.source), self.config.columns
        self.every = self.noting(rubric_rows.read(source, columns, self.config.strict))
        present = {split for split, _ in self.every}
        if not present:
            raise UserError(f"--source {self.config.source}: holds no rows")
        return [datasets.SplitGenerator(s, {"split": s}) for s in rubric_rows.SPLITS if s in present]

    def _generate_examples(self, split: str) -> Iterator[tuple[int, Row]]:
        for number, (its, row) in enumerate(self.every):
            if its == split and self.config.name in ("all", *subsets(row)):
                yield number, row


COUNTED = ("language", "instruction_category", "source_benchmark", "rubric_type", "label")
CORPUS = Corpus(RubricEval, about, subsets=subsets, counted=COUNTED, totals=totals)
