"""FACTS Grounding (paper 002): requests that one document alone must answer, from the public CSV or a private one.

The file holds no split: the public examples are `open`; a private file becomes `blind`, which is never pushed in
public. Requests that seem to need creativity, mathematics or expertise are reported, for a human to look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import datasets

from truebench_hf.benchmarks.facts.screening import FLAGS, screen
from truebench_hf.errors import UserError, unknown
from truebench_hf.loaders.corpus import About, Corpus, Data, Row, SourceBuilder, configs, fingerprint
from truebench_hf.loaders.usable import Usable, usable

SPLITS = ("open", "blind")
PUBLIC = 860  # rows of the public set
FEATURES = datasets.Features(
    dict.fromkeys(("system_instruction", "user_request", "context_document", "full_prompt"), datasets.Value("string"))
)


def rows(path: Path, strict: bool = False) -> Usable[Row]:
    """The rows of a file in the public CSV layout that can be used; see `usable`."""
    return usable(path, lambda record: [{name: record.text(name) for name in FEATURES}], strict=strict)


def flagged(every: Sequence[Row]) -> tuple[str, ...]:
    """A remark for each reason why `screen` flags requests, with the rows to look at."""
    found = [(number, screen(row["user_request"])) for number, row in enumerate(every, 1)]
    rows = {flag: [str(number) for number, flags in found if flag in flags] for flag in FLAGS}
    return tuple(f"the request may need {flag}; look at rows {', '.join(n)}" for flag, n in rows.items() if n)


def about(source: str | None, data: Data) -> About:
    """The hash of the file, whether it has as many rows as the public set, and the requests to look at."""
    ((split, every),) = data["all"].items()
    notes = flagged(every)
    if split == "open" and len(every) != PUBLIC:
        notes = (f"the public set has {PUBLIC} rows, this file {len(every)}", *notes)
    return About(f"sha256 {fingerprint(source)[:12]}", notes)


class FactsGrounding(SourceBuilder):
    """`source`: a CSV (or JSONL, Parquet) with the public columns; `split`: open (default) or blind."""

    BUILDER_CONFIGS = configs("all")
    FEATURES = FEATURES
    LICENSE = "cc-by-4.0"

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        split = self.config.split or "open"
        if split not in SPLITS:
            raise unknown("split", split, SPLITS)
        if self.config.source is None:
            raise UserError(
                "facts_grounding needs --source: examples.csv of google/FACTS-grounding-public, or your own"
            )
        return [datasets.SplitGenerator(split, {"path": self.config.source})]

    def _generate_examples(self, path: str) -> Iterator[tuple[int, Row]]:
        yield from enumerate(self.noting(rows(Path(path), self.config.strict)))


CORPUS = Corpus(FactsGrounding, about, counted=())
