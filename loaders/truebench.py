"""TRUEBench (paper 000): the official JSONL of any version, by language and by category.

Pinned releases download themselves and are checked; of any other file the builder says how it differs. The mini set has
36 instances in the same columns, written for this project.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from pathlib import PurePath

import datasets

from truebench_hf.benchmarks.truebench.data import CATEGORIES, LANGUAGE_NAMES, LANGUAGES, slug
from truebench_hf.data import instances
from truebench_hf.data.catalogue import LATEST, MINI, RELEASES, download
from truebench_hf.data.row_files import Rows
from truebench_hf.data.row_formats import Entry
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError
from truebench_hf.loaders.builders import About, Builder, Data, Row, SourceBuilder, configs
from truebench_hf.loaders.card import table
from truebench_hf.loaders.rows import TEXT, texts
from truebench_hf.report.table import Table
from truebench_hf.types import Criterion

WHOLE = datasets.Value("int64")
# The first turn stands there again, each as one text: evaluation tools that take a prompt and a target read these.
FEATURES = texts(
    "index", "language", "category", "sub_category", "turns", "criteria", "input", "first_prompt", "first_criteria",
    index=WHOLE, turns=WHOLE, criteria=datasets.List(datasets.List(TEXT)), input=datasets.List(TEXT),
)  # fmt: skip
PARTS = ("language", "category")
NAMES = {english.casefold(): code.casefold() for code, english in LANGUAGE_NAMES.items()}


def row(record: Record) -> Row:
    """One row in the published columns and the first turn as texts, ids as texts. Raises UserError naming the line and the field that is wrong.

    What is told beside prompts and criteria has no column: a row without it would be another.
    """
    instance = instances.of_row(record)
    for name in ("system", "context", "history"):
        if getattr(instance, name):
            raise record.wrong(name, f"tells a {name}, for which TRUEBench has no column")
    if not any(turn.criteria for turn in instance.turns):
        raise record.wrong("criteria", "must be texts, some for one turn at least")
    if not all(c == Criterion(c.text) for turn in instance.turns for c in turn.criteria):
        what = "must be texts, without points or conditions, for which TRUEBench has no columns"
        raise record.wrong("criteria", what)
    criteria = [[criterion.text for criterion in turn.criteria] for turn in instance.turns]
    prompts = [turn.prompt for turn in instance.turns]
    first = "\n".join(f"- {text}" for text in criteria[0])
    cells = (instance.id, instance.language, instance.category, instance.task, len(prompts), criteria, prompts)
    return dict(zip(FEATURES, (*cells, prompts[0], first), strict=True))


def totals(data: Data) -> dict[str, int]:
    """Instances, turns and criteria."""
    rows = data["all"]["test"]
    criteria = sum(len(turn) for turns in rows.column("criteria") for turn in turns)
    return {"instances": len(rows), "turns": sum(rows.column("turns")), "criteria": criteria}


class TrueBench(SourceBuilder):
    """`source`: anything that `truebench run --data` takes, or a pinned release by name (default: the latest)."""

    VERSION = datasets.Version("0.6.1")
    BUILDER_CONFIGS = configs("all", *map(slug, LANGUAGES), *map(slug, CATEGORIES))
    NAME, FEATURES, PARTS, COUNTED, OTHER = "truebench", FEATURES, PARTS, PARTS, NAMES
    TAKES = (*SourceBuilder.TAKES, "columns")
    totals = staticmethod(totals)

    def about(self, data: Data) -> About:
        """The release the file is, by its hash; for another file that bears a release's name, how the counts differ."""
        sha256, ours, name = self.fingerprint, self.totals(data), PurePath(self.name_of_source).name
        notes, tables = [f"{name} is no release known here; its origin is unchecked"], list[Table]()
        for version, release in RELEASES.items():
            counts = {"instances": release.instances, "turns": release.turns, "criteria": release.criteria}
            if sha256 == release.sha256 and ours == counts:
                return About(version)
            if version in name or sha256 == release.sha256:
                notes = [f"{name} is not the pinned {version} (SHA-256 {sha256[:12]}, pinned {release.sha256[:12]})"]
                rows = tuple((name, ours[name], counts[name]) for name in counts)
                tables = [table(f"Counts beside those of {version}", ("", "this file", version), rows)]
                break
        # Columns of the source that are not among the published ones.
        columns = {column for record in self.records() for column in record.row}
        extra = sorted(map(str, (columns - {*FEATURES, *instances.COLUMNS}) | (columns & {"reference"})))
        notes += [f"left out, since they are no columns of TRUEBench: {', '.join(extra)}"] if extra else []
        return About(f"sha256 {sha256[:12]}", tuple(notes), tuple(tables))

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        # An id is a number in official files; where one is none, all are texts.
        self.numbers = all(map(_is_number, self.records()))
        if not self.numbers:
            self.info.features = datasets.Features({**FEATURES, "index": TEXT})
        return [datasets.SplitGenerator("test")]

    def read(self) -> Rows:
        """The rows of the source as `truebench run` reads them, under our names."""
        rows, columns = self.one_split(), self.config.columns

        def ours() -> Iterator[Entry]:
            by_hand = {ours: (theirs,) for ours, theirs in columns.items()}
            headers = instances.headers((entry for entry in rows.entries() if isinstance(entry, Record)), by_hand)
            for entry in rows.entries():
                if isinstance(entry, Record):
                    entry = replace(entry, row=instances.renamed(instances.under_headers(entry.row, headers), columns))
                yield entry

        return replace(rows, entries=ours)

    def records(self) -> Iterator[Record]:
        """Those of the rows that are not malformed."""
        return (entry for entry in self.read().entries() if isinstance(entry, Record))

    def rows(self) -> Iterator[Row]:
        taken: set[str] = set()

        def once(record: Record) -> list[Row]:
            cells = row(record)
            if cells["index"] in taken and not instances.id_of(record, ""):
                cells["index"] = instances.free_id(cells["index"], taken)
            taken.add(cells["index"])
            return [cells]

        for cells in self.sifted(self.read(), once, key=itemgetter("index")):
            yield cells | {"index": int(cells["index"])} if self.numbers else cells

    def _source(self) -> str:
        source = self.config.source or LATEST
        pinned = next((name for name, release in RELEASES.items() if source in (name, release.url)), None)
        return str(download(pinned)) if pinned else source


class TrueBenchMini(Builder):
    """Built in: takes no source."""

    BUILDER_CONFIGS = configs("all", *map(slug, LANGUAGES), *map(slug, CATEGORIES))
    NAME, FEATURES, PARTS, COUNTED, OTHER = "truebench_mini", FEATURES, PARTS, PARTS, NAMES
    FILE, totals = MINI, staticmethod(totals)

    @staticmethod
    def row(record: Record) -> Row:
        return row(record) | {"index": record.row["index"]}


def _is_number(record: Record) -> bool:
    """Whether the id of a row is a whole number, if it can be one at all."""
    try:
        name = instances.id_of(record, "")
    except UserError:
        return True
    return name.isascii() and name.isdecimal() and len(name) < 19 and name == str(int(name))
