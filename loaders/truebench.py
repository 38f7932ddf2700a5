"""TRUEBench (paper 000): the official JSONL of any version, by language and by category.

Pinned releases download themselves and are checked; of any other file the builder says how it differs. The mini set has
36 instances in the same columns, written for this project.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from operator import itemgetter
from pathlib import PurePath

import datasets

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGE_NAMES, LANGUAGES, slug
from truebench_hf.data import instances, row_files
from truebench_hf.data.catalogue import LATEST, MINI, RELEASES, download
from truebench_hf.data.row_files import Rows
from truebench_hf.data.row_formats import Entry
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.loaders.builders import About, Builder, Data, Row, SourceBuilder, configs
from truebench_hf.loaders.card import CardTable
from truebench_hf.types import Criterion

FEATURES = datasets.Features(
    {
        "index": datasets.Value("int64"),
        "language": datasets.Value("string"),
        "category": datasets.Value("string"),
        "sub_category": datasets.Value("string"),
        "turns": datasets.Value("int64"),
        "criteria": datasets.List(datasets.List(datasets.Value("string"))),
        "input": datasets.List(datasets.Value("string")),
        # The first turn again, each as one text: evaluation tools that take a prompt and a target read these.
        "first_prompt": datasets.Value("string"),
        "first_criteria": datasets.Value("string"),
    }
)
PARTS = ("language", "category")
NAMES = {english.casefold(): code.casefold() for code, english in LANGUAGE_NAMES.items()}


def row(record: Record) -> Row:
    """One row in the published columns and the first turn as texts, ids as texts. Raises UserError naming the line and the field that is wrong.

    What is told beside prompts and criteria has no column: a row without it would be another.
    """
    found = instances.of_row(record)
    for name in ("system", "context", "history"):
        if getattr(found, name):
            raise record.wrong(name, f"tells a {name}, for which TRUEBench has no column")
    if not any(turn.criteria for turn in found.turns):
        raise record.wrong("criteria", "must be texts, some for one turn at least")
    if not all(c == Criterion(c.text) for turn in found.turns for c in turn.criteria):
        raise record.wrong(
            "criteria", "must be texts, without points or conditions, for which TRUEBench has no columns"
        )
    said = {"criteria": [[c.text for c in turn.criteria] for turn in found.turns]}
    said |= {"input": [turn.prompt for turn in found.turns]}
    names = {"language": found.language, "category": found.category, "sub_category": found.task}
    first = {"first_prompt": said["input"][0], "first_criteria": "\n".join(f"- {text}" for text in said["criteria"][0])}
    return {"index": found.id, **names, "turns": len(found.turns), **said, **first}


def totals(data: Data) -> dict[str, int]:
    """Instances, turns and criteria."""
    every = data["all"]["test"]
    criteria = sum(len(turn) for turns in every.column("criteria") for turn in turns)
    return {"instances": len(every), "turns": sum(every.column("turns")), "criteria": criteria}


class TrueBench(SourceBuilder):
    """`source`: anything that `truebench run --data` takes, or a pinned release by name (default: the latest)."""

    VERSION = datasets.Version("0.6.1")
    BUILDER_CONFIGS = configs("all", *map(slug, LANGUAGES), *map(slug, CATEGORIES))
    NAME, FEATURES, PARTS, COUNTED, OTHER = "truebench", FEATURES, PARTS, PARTS, NAMES
    TAKES = (*SourceBuilder.TAKES, "columns")
    totals = staticmethod(totals)

    def about(self, data: Data) -> About:
        """The release the file is, by its hash; for another file that bears a release's name, how the counts differ."""
        found, ours, name = self.fingerprint, self.totals(data), PurePath(self.name_of_source).name
        for version, release in RELEASES.items():
            counts = {"instances": release.instances, "turns": release.turns, "criteria": release.criteria}
            if found == release.sha256 and ours == counts:
                return About(version)
            if version in name or found == release.sha256:
                note = f"{name} is not the pinned {version} (SHA-256 {found[:12]}, pinned {release.sha256[:12]})"
                rows = tuple((name, ours[name], counts[name]) for name in counts)
                table = CardTable(f"Counts beside those of {version}", ("", "this file", version), rows)
                return About(f"sha256 {found[:12]}", (note, *self.beside()), (table,))
        return About(
            f"sha256 {found[:12]}", (f"{name} is no release known here; its origin is unchecked", *self.beside())
        )

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        # An id is a number in official files; where one is none, all are texts.
        self.numbers = all(map(_is_number, (one for one in self.read().entries() if isinstance(one, Record))))
        if not self.numbers:
            self.info.features = datasets.Features({**FEATURES, "index": datasets.Value("string")})
        return [datasets.SplitGenerator("test")]

    def read(self) -> Rows:
        """The rows of the source as `truebench run` reads them, under our names."""
        found, columns = row_files.the_one(self.found(), self.name_of_source), self.config.columns

        def ours() -> Iterator[Entry]:
            by_hand = {ours: (theirs,) for ours, theirs in columns.items()}
            headers = instances.headers((one for one in found.entries() if isinstance(one, Record)), by_hand)
            for one in found.entries():
                if isinstance(one, Record):
                    one = replace(one, row=instances.renamed(headers.renamed(one.row), columns))
                yield one

        return replace(found, entries=ours)

    def rows(self) -> Iterator[Row]:
        taken: set[str] = set()

        def once(record: Record) -> list[Row]:
            made = row(record)
            if made["index"] in taken and not instances.id_of(record, ""):
                made["index"] = instances.free_id(made["index"], taken)
            taken.add(made["index"])
            return [made]

        for one in self.sifted(self.read(), once, key=itemgetter("index")):
            yield one | {"index": int(one["index"])} if self.numbers else one

    def beside(self) -> Sequence[str]:
        """A remark on columns of the source that are not among the published ones."""
        names = {name for record in self.read().entries() if isinstance(record, Record) for name in record.row}
        extra = sorted(map(str, (names - {*FEATURES, *instances.COLUMNS}) | (names & {"reference"})))
        return [f"left out, since they are no columns of TRUEBench: {', '.join(extra)}"] if extra else []

    def _source(self) -> str:
        given = self.config.source or self.config.data_dir or LATEST
        pinned = next((name for name, release in RELEASES.items() if given in (name, release.url)), None)
        return str(download(pinned)) if pinned else given


class TrueBenchMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all", *map(slug, LANGUAGES), *map(slug, CATEGORIES))
    NAME, FEATURES, PARTS, COUNTED, OTHER = "truebench_mini", FEATURES, PARTS, PARTS, NAMES
    totals = staticmethod(totals)

    def rows(self) -> Iterator[Row]:
        for record in row_files.records(MINI):
            yield row(record) | {"index": record.row["index"]}


def _is_number(record: Record) -> bool:
    """Whether the id of a row is a whole number, if it can be one at all."""
    try:
        name = instances.id_of(record, "")
    except UserError:
        return True
    return name.isascii() and name.isdecimal() and len(name) < 19 and name == str(int(name))
