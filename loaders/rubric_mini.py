"""The built-in meta-evaluation set of RubricEval's kind, whose labels are certain by construction, easy and hard.

Made by `truebench_hf.benchmarks.rubric_eval.mini` with seed 0; `pair_id` names the contrast pair a row belongs to. Rows
of the hard split name their `trap`, and say whether they are `measurable`: decided by a program that reads no more than
rubric and response. In the easy split both are null.
"""

from __future__ import annotations

from collections.abc import Iterator

import datasets

from truebench_hf.benchmarks.rubric_eval.mini import SPLITS, rows
from truebench_hf.data.rubrics import INSTRUCTION_CATEGORIES
from truebench_hf.loaders import rubric_eval
from truebench_hf.loaders.builders import Builder, Row, configs
from truebench_hf.loaders.corpus import Corpus, Data, built_in

_SHARED = {name: feature for name, feature in rubric_eval.FEATURES.items() if name not in ("context", "reference")}
FEATURES = datasets.Features(
    {**_SHARED, "pair_id": rubric_eval.TEXT, "trap": rubric_eval.TEXT, "measurable": datasets.Value("bool")}
)


def totals(data: Data) -> dict[str, int]:
    """As for RubricEval, and the contrast pairs."""
    pairs = {name for table in data["all"].values() for name in table.column("pair_id")} - {""}
    return {**rubric_eval.totals(data), "contrast pairs": len(pairs)}


class RubricMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all", *INSTRUCTION_CATEGORIES)
    FEATURES, PARTS = FEATURES, rubric_eval.PARTS

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(split, {"split": split}) for split in SPLITS]

    def rows(self, split: str) -> Iterator[Row]:
        yield from rows(0, split)


COUNTED = ("language", "instruction_category", "rubric_type", "dimension", "trap", "measurable", "label")
CORPUS = Corpus(RubricMini, built_in, counted=COUNTED, totals=totals)
