"""The built-in sample of TRUEBench's kind: 36 instances written for this project, in the columns of TRUEBench."""

from __future__ import annotations

from collections.abc import Iterator

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES, MINI, slug
from truebench_hf.loaders.corpus import Builder, Corpus, Row, built_in, configs
from truebench_hf.loaders.truebench import FEATURES, rows, subsets, totals


class TrueBenchMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all", *map(slug, LANGUAGES), *map(slug, CATEGORIES))
    FEATURES = FEATURES

    def _generate_examples(self) -> Iterator[tuple[int, Row]]:
        for number, row in enumerate(rows(MINI, strict=True)):
            if self.config.name == "all" or self.config.name in subsets(row):
                yield number, row


CORPUS = Corpus(TrueBenchMini, built_in, subsets=subsets, counted=("language", "category"), totals=totals)
