"""FACTS Grounding (paper 002): requests that one document alone must answer, from the public CSV or a private one.

The file holds no split: the public examples are `open`; a private file becomes `blind`, which is never pushed in
public. The mini set has 12 documents written for this project, with three answers each.
"""

from __future__ import annotations

from collections.abc import Iterator

import datasets

from truebench_hf.benchmarks.facts.data import MINI
from truebench_hf.errors import unknown
from truebench_hf.loaders.builders import About, Builder, Data, Row, SourceBuilder, configs
from truebench_hf.loaders.rows import texts

SPLITS = ("open", "blind")
PUBLIC = 860  # rows of the public set
FEATURES = texts("system_instruction", "user_request", "context_document", "full_prompt")
MINI_FEATURES = texts(
    "id", "domain", "task", *FEATURES, "context_tokens", "language", "grounded_response", "ungrounded_response",
    "ungrounded_sentences", "evasive_response", "label_source",
    context_tokens=datasets.Value("int64"), ungrounded_sentences=datasets.List(texts("sentence", "why")),
)  # fmt: skip


class FactsGrounding(SourceBuilder):
    """`source`: a CSV (or JSONL, Parquet ...) with the public columns; `split`: open (default) or blind."""

    BUILDER_CONFIGS = configs("all")
    NAME, FEATURES, COUNTED = "facts_grounding", FEATURES, ()
    TAKES = (*SourceBuilder.TAKES, "split")
    NEEDS = "examples.csv of google/FACTS-grounding-public, or your own"

    def about(self, data: Data) -> About:
        """The hash of the file, and whether it has as many rows as the public set."""
        ((split, table),) = data["all"].items()
        odd = split == "open" and len(table) != PUBLIC
        notes = (f"the public set has {PUBLIC} rows, this file {len(table)}",) if odd else ()
        return About(f"sha256 {self.fingerprint[:12]}", notes)

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        split = self.config.split or "open"
        if split not in SPLITS:
            raise unknown("split", split, SPLITS)
        return [datasets.SplitGenerator(split)]

    def rows(self) -> Iterator[Row]:
        return self.sifted(self.one_split(), lambda record: [{name: record.text(name) for name in FEATURES}])


class FactsMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all")
    NAME, FEATURES, COUNTED, FILE = "facts_mini", MINI_FEATURES, ("language", "domain", "task"), MINI
