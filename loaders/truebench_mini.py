"""The built-in sample of TRUEBench's kind: 36 instances written for this project, in the columns of TRUEBench."""

from __future__ import annotations

from collections.abc import Iterator

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES, slug
from truebench_hf.data import row_files
from truebench_hf.data.catalogue import MINI
from truebench_hf.loaders import truebench
from truebench_hf.loaders.builders import Builder, Row, configs
from truebench_hf.loaders.corpus import Corpus, built_in


class TrueBenchMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all", *map(slug, LANGUAGES), *map(slug, CATEGORIES))
    FEATURES, PARTS, OTHER = truebench.FEATURES, truebench.PARTS, truebench.NAMES

    def rows(self) -> Iterator[Row]:
        for record in row_files.records(MINI):
            yield truebench.row(record) | {"index": record.row["index"]}


CORPUS = Corpus(TrueBenchMini, built_in, counted=truebench.PARTS, totals=truebench.totals)
