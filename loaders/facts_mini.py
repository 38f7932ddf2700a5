"""The built-in sample of FACTS Grounding's kind: 12 documents written for this project, with three answers each."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import as_file, files

import datasets

from truebench_hf.data import row_files
from truebench_hf.loaders.builders import Builder, Row, configs
from truebench_hf.loaders.corpus import About, Corpus, Data
from truebench_hf.loaders.facts_grounding import flagged
from truebench_hf.version import __version__

TEXT = datasets.Value("string")
FEATURES = datasets.Features(
    {
        "id": TEXT,
        "domain": TEXT,
        "task": TEXT,
        "system_instruction": TEXT,
        "user_request": TEXT,
        "context_document": TEXT,
        "full_prompt": TEXT,
        "context_tokens": datasets.Value("int64"),
        "language": TEXT,
        "grounded_response": TEXT,
        "ungrounded_response": TEXT,
        "ungrounded_sentences": datasets.List({"sentence": TEXT, "why": TEXT}),
        "evasive_response": TEXT,
        "label_source": TEXT,
    }
)


def about(builder: Builder, data: Data) -> About:
    """The version is that of this package; requests that a grounding set should not hold are named."""
    return About(__version__, flagged(data["all"]["test"].column("user_request")))


class FactsMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all")
    FEATURES = FEATURES

    def rows(self) -> Iterator[Row]:
        with as_file(files("truebench_hf.benchmarks.facts") / "mini.jsonl") as path:
            for record in row_files.records(path):
                yield dict(record.row)


CORPUS = Corpus(FactsMini, about, counted=("language", "domain", "task"))
