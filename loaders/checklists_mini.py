"""The built-in sample of checklists: 28 instructions written for this project, with two responses each."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files

from truebench_hf.data import row_files
from truebench_hf.loaders.builders import Builder, Row, configs
from truebench_hf.loaders.checklists import FEATURES, row, totals
from truebench_hf.loaders.corpus import Corpus, built_in


class ChecklistsMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all")
    FEATURES = FEATURES

    def rows(self) -> Iterator[Row]:
        with as_file(files("truebench_hf.benchmarks.tick") / "checklists_mini.jsonl") as path:
            yield from map(row, row_files.records(path))


CORPUS = Corpus(ChecklistsMini, built_in, counted=("language", "category"), totals=totals)
