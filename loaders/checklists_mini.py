"""The built-in sample of checklists: 28 instructions written for this project, with two responses each."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files

from truebench_hf.loaders.checklists import FEATURES, rows, totals
from truebench_hf.loaders.corpus import Builder, Corpus, Row, built_in, configs


class ChecklistsMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all")
    FEATURES = FEATURES

    def _generate_examples(self) -> Iterator[tuple[int, Row]]:
        with as_file(files("truebench_hf.benchmarks.tick") / "checklists_mini.jsonl") as path:
            yield from enumerate(rows(path, strict=True))


CORPUS = Corpus(ChecklistsMini, built_in, counted=("language", "category"), totals=totals)
