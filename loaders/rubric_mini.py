"""The built-in meta-evaluation set of RubricEval's kind, whose labels are certain by construction.

Made by `truebench_hf.benchmarks.rubric_eval.mini` with seed 0; `pair_id` names the contrast pair a row belongs to.
"""

from __future__ import annotations

from collections.abc import Iterator

import datasets

from truebench_hf.benchmarks.rubric_eval.mini import rows
from truebench_hf.benchmarks.rubric_eval.rubric_types import INSTRUCTION_CATEGORIES
from truebench_hf.loaders import rubric_eval
from truebench_hf.loaders.builders import Builder, Row, configs
from truebench_hf.loaders.corpus import Corpus, Data, built_in

_SHARED = {name: feature for name, feature in rubric_eval.FEATURES.items() if name not in ("context", "reference")}
FEATURES = datasets.Features({**_SHARED, "pair_id": datasets.Value("string")})


def totals(data: Data) -> dict[str, int]:
    """As for RubricEval, and the contrast pairs."""
    pairs = set(data["all"]["test"].column("pair_id")) - {""}
    return {**rubric_eval.totals(data), "contrast pairs": len(pairs)}


class RubricMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all", *INSTRUCTION_CATEGORIES)
    FEATURES, PARTS = FEATURES, rubric_eval.PARTS

    def rows(self) -> Iterator[Row]:
        yield from rows(seed=0)


COUNTED = ("language", "instruction_category", "rubric_type", "dimension", "label")
CORPUS = Corpus(RubricMini, built_in, counted=COUNTED, totals=totals)
