"""TRUEBench (paper 000): the official JSONL of any version, by language and by category.

Pinned releases download themselves and are checked; of any other file the builder says how it differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import itemgetter
from pathlib import Path

import datasets

from truebench_hf import instances
from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGES, RELEASES, download, slug
from truebench_hf.loaders.corpus import About, Corpus, Data, Row, SourceBuilder, configs, fingerprint
from truebench_hf.loaders.counts import Table
from truebench_hf.loaders.usable import Usable, usable
from truebench_hf.row_files import entries
from truebench_hf.rows import Record
from truebench_hf.types import Criterion

LATEST = "v0.6.1"
FEATURES = datasets.Features(
    {
        "index": datasets.Value("int64"),
        "language": datasets.Value("string"),
        "category": datasets.Value("string"),
        "sub_category": datasets.Value("string"),
        "turns": datasets.Value("int64"),
        "criteria": datasets.List(datasets.List(datasets.Value("string"))),
        "input": datasets.List(datasets.Value("string")),
    }
)


def row(record: Record) -> Row:
    """One row in the published columns. Raises UserError naming the line and the field that is wrong."""
    named = {name: record.text(name) for name in ("language", "category", "sub_category")}
    record.texts("input")
    turns = instances.of_row(record).turns
    if type(record.row.get("index")) is not int:
        raise record.wrong("index", "must be a number")
    if not all(turn.criteria and all(c == Criterion(c.text) for c in turn.criteria) for turn in turns):
        raise record.wrong("criteria", "must be texts, some for each turn, without points or conditions")
    said = {"criteria": [[c.text for c in turn.criteria] for turn in turns], "input": [turn.prompt for turn in turns]}
    return {"index": record.row["index"], **named, "turns": len(turns), **said}


def rows(path: Path, strict: bool = False) -> Usable[Row]:
    """The rows of an official file that can be used, in its order; see `usable`."""
    return usable(path, lambda record: [row(record)], key=itemgetter("index"), strict=strict)


def subsets(row: Row) -> tuple[str, ...]:
    """The configurations a row belongs to beside `all`: its language and its category."""
    return slug(row["language"]), slug(row["category"])


def totals(data: Data) -> dict[str, int]:
    """Instances, turns and criteria."""
    every = data["all"]["test"]
    criteria = sum(len(turn) for row in every for turn in row["criteria"])
    return {"instances": len(every), "turns": sum(row["turns"] for row in every), "criteria": criteria}


def source_path(source: str | None) -> Path:
    """The file of a source: a path, or the name of a pinned release (none: the latest), which is fetched if need be."""
    name = source or LATEST
    return download(name) if name in RELEASES else Path(name)


def about(source: str | None, data: Data) -> About:
    """The release the file is, by its hash; for another file that bears a release's name, how the counts differ."""
    path = source_path(source)
    found, ours = fingerprint(str(path)), totals(data)
    for version, release in RELEASES.items():
        counts = {"instances": release.instances, "turns": release.turns, "criteria": release.criteria}
        if found == release.sha256 and ours == counts:
            return About(version)
        if version in path.name or found == release.sha256:
            note = f"{path.name} is not the pinned {version} (SHA-256 {found[:12]}, pinned {release.sha256[:12]})"
            rows = tuple((name, ours[name], counts[name]) for name in counts)
            table = Table(f"Counts beside those of {version}", ("", "this file", version), rows)
            return About(f"sha256 {found[:12]}", (note, *_left_out(path)), (table,))
    return About(
        f"sha256 {found[:12]}", (f"{path.name} is no release known here; its origin is unchecked", *_left_out(path))
    )


def _left_out(path: Path) -> Sequence[str]:
    """A remark on columns of the file that are not among the published ones."""
    extra = sorted(
        {name for record in entries(path) if isinstance(record, Record) for name in record.row} - set(FEATURES)
    )
    return [f"left out, since they are no columns of TRUEBench: {', '.join(extra)}"] if extra else []


class TrueBench(SourceBuilder):
    """`source`: a path, or a pinned release by name (default: the latest)."""

    VERSION = datasets.Version("0.6.1")
    BUILDER_CONFIGS = configs("all", *map(slug, LANGUAGES), *map(slug, CATEGORIES))
    FEATURES = FEATURES

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator("test", {"path": str(source_path(self.config.source))})]

    def _generate_examples(self, path: str) -> Iterator[tuple[int, Row]]:
        for number, row in enumerate(self.noting(rows(Path(path), self.config.strict))):
            if self.config.name == "all" or self.config.name in subsets(row):
                yield number, row


CORPUS = Corpus(TrueBench, about, subsets=subsets, counted=("language", "category"), totals=totals)
