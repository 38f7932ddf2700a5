"""FACTS Grounding (paper 002): requests that one document alone must answer, from the public CSV or a private one.

The file holds no split: the public examples are `open`; a private file becomes `blind`, which is never pushed in
public. Requests that seem to need creativity, mathematics or expertise are reported, for a human to look at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import datasets

from truebench_hf.benchmarks.facts.screening import FLAGS, screen
from truebench_hf.data import row_files
from truebench_hf.errors import unknown
from truebench_hf.loaders.builders import Builder, Row, SourceBuilder, configs
from truebench_hf.loaders.corpus import About, Corpus, Data

SPLITS = ("open", "blind")
PUBLIC = 860  # rows of the public set
FEATURES = datasets.Features(
    dict.fromkeys(("system_instruction", "user_request", "context_document", "full_prompt"), datasets.Value("string"))
)


def flagged(requests: Iterable[str]) -> tuple[str, ...]:
    """A remark for each reason why `screen` flags requests, with the rows to look at."""
    found = [(number, screen(request)) for number, request in enumerate(requests, 1)]
    rows = {flag: [str(number) for number, flags in found if flag in flags] for flag in FLAGS}
    return tuple(f"the request may need {flag}; look at rows {', '.join(n)}" for flag, n in rows.items() if n)


def about(builder: Builder, data: Data) -> About:
    """The hash of the file, whether it has as many rows as the public set, and the requests to look at."""
    assert isinstance(builder, FactsGrounding)
    ((split, every),) = data["all"].items()
    notes = flagged(every.column("user_request"))
    if split == "open" and len(every) != PUBLIC:
        notes = (f"the public set has {PUBLIC} rows, this file {len(every)}", *notes)
    return About(f"sha256 {builder.fingerprint[:12]}", notes)


class FactsGrounding(SourceBuilder):
    """`source`: a CSV (or JSONL, Parquet ...) with the public columns; `split`: open (default) or blind."""

    BUILDER_CONFIGS = configs("all")
    FEATURES = FEATURES
    TAKES = (*SourceBuilder.TAKES, "split")
    NEEDS = "examples.csv of google/FACTS-grounding-public, or your own"

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        split = self.config.split or "open"
        if split not in SPLITS:
            raise unknown("split", split, SPLITS)
        return [datasets.SplitGenerator(split)]

    def rows(self) -> Iterator[Row]:
        found = row_files.the_one(self.found(), self.name_of_source)
        return self.sifted(found, lambda record: [{name: record.text(name) for name in FEATURES}])


CORPUS = Corpus(FactsGrounding, about, counted=())
