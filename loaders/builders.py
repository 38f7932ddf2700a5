"""The two kinds of `datasets` builders: of what is built in, and of a source of the user's. Both read row by row.

A corpus is a builder with pure row functions. Its class says what there is to know of the set before it is built, and
`about` and `totals` what its card says of the rows that were built.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import datasets

from truebench_hf.benchmarks.truebench.data import slug
from truebench_hf.data import row_files
from truebench_hf.data.catalogue import entry
from truebench_hf.data.row_files import LeftOut, Rows, Sieve, Splits, together
from truebench_hf.data.rows import Record
from truebench_hf.errors import UserError, unknown
from truebench_hf.hashing import digest
from truebench_hf.loaders.card import citations, passage
from truebench_hf.loaders.rows import Stored, contents, mended, place, sha256
from truebench_hf.report.table import Table
from truebench_hf.version import __version__

T = TypeVar("T")
Row = dict[str, Any]
Data = Mapping[str, Mapping[str, Stored]]  # configuration -> split -> rows
_LOG = logging.getLogger(__name__)


@dataclass
class SourceConfig(datasets.BuilderConfig):
    """Configuration of a builder: where its rows come from (None: what is built in or pinned), and how to read them.

    `split` names the split of a corpus whose file does not say it; `columns` maps our column names to the file's.
    With `strict` the first row that cannot be used is an error; otherwise it is left out and told. `part` is a
    configuration that nobody knew of before the source was read, such as a new language.
    """

    source: str | None = None
    split: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    strict: bool = False
    part: str = ""

    def create_config_id(self, config_kwargs: dict[str, Any], custom_features: Any = None) -> str:
        """The cache's name for this configuration; it changes with the contents of the source and our version."""
        state = {**config_kwargs, "contents": f"{__version__} {contents(self.source)}"}
        return str(super().create_config_id(state, custom_features))


@dataclass(frozen=True)
class About:
    """What a builder has to say about the data it was given: a version, remarks, and tables for the card."""

    version: str
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


_FLAGS = {"source": "--source", "split": "--split", "columns": "--column", "strict": "--strict"}


class Builder(datasets.GeneratorBasedBuilder):
    """A builder as most are: one form of rows, one split. What is built in takes no source and needs no more.

    `NAME` is its name in the catalogue, `FILE` that of what is built in, whose rows `row` reads. `PREPARED` are the
    configurations that it prepares, `PARTS` the columns whose values are configurations beside the first one, `OTHER`
    further names of these; of a `SPARSE` corpus a configuration without rows, which `load_dataset` could not read, is
    left out. `TAKES` are the options it honours, `COUNTED` the columns counted on the card. A text with half a character
    in it, which no table holds, is mended, and `mended` counts.
    """

    VERSION = datasets.Version("1.0.0")
    DEFAULT_CONFIG_NAME = "all"
    BUILDER_CONFIG_CLASS = SourceConfig
    NAME: ClassVar[str]
    FEATURES: datasets.Features
    FILE: ClassVar[Path]
    PREPARED: ClassVar[tuple[str, ...]] = ("all",)
    SPARSE = False
    COUNTED: ClassVar[tuple[str, ...]] = ("language",)
    TAKES: ClassVar[tuple[str, ...]] = ()
    PARTS: ClassVar[tuple[str, ...]] = ()
    OTHER: ClassVar[Mapping[str, str]] = {}
    mended = 0

    @property
    def left_out(self) -> LeftOut:
        """What of the rows could not be used."""
        return LeftOut()

    def about(self, data: Data) -> About:
        """What there is to say of the rows: of those that ship with this package its version."""
        return About(__version__)

    @staticmethod
    def totals(data: Data) -> dict[str, int]:
        """Whatever is worth a number on the card."""
        return {}

    def __init__(
        self,
        cache_dir: str | None = None,
        dataset_name: str | None = None,
        config_name: str | None = None,
        **options: Any,
    ) -> None:
        name = self.NAME
        for option, flag in _FLAGS.items():
            if options.get(option) and option not in self.TAKES:
                what = "is built in and takes no" if not self.TAKES else f"takes {', '.join(self.TAKES)}, and no"
                raise UserError(f"{name} {what} {flag}")
        if source := options.get("source"):
            options["source"] = place(source)
        if config_name is not None:
            known = {slug(config.name): config.name for config in self.BUILDER_CONFIGS}
            config = self.OTHER.get(slug(config_name), slug(config_name))
            if config != "default" and config not in known:
                if not (self.PARTS and self.TAKES):
                    raise unknown("configuration", config_name, known.values())
                options["part"] = config  # which nobody knows yet
            config_name = known.get(config, self.DEFAULT_CONFIG_NAME)
        super().__init__(cache_dir, dataset_name, config_name, **options)

    @property
    def columns(self) -> datasets.Features:
        """The columns of the configuration."""
        return self.FEATURES

    def _info(self) -> datasets.DatasetInfo:
        what = entry(self.NAME)
        return datasets.DatasetInfo(
            description=passage(what.name, "intro"), citation=citations(what.paper), homepage=what.homepage,
            license=what.licence, features=self.columns,
        )  # fmt: skip

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator("test")]

    @staticmethod
    def row(record: Record) -> Row:
        """A row of `FILE` in our columns."""
        return dict(record.row)

    def rows(self, **of_split: Any) -> Iterable[Row]:
        """All rows of a split, of whatever configuration. Raises UserError on what cannot be read."""
        return map(self.row, row_files.records(self.FILE))

    def _generate_examples(self, **of_split: Any) -> Iterator[tuple[int, Row]]:
        part = self.config.part or (self.config.name if self.config.name != self.DEFAULT_CONFIG_NAME else "")
        known: set[str] = set()
        for number, row in enumerate(self.rows(**of_split)):
            parts = {slug(str(row[column])) for column in self.PARTS}
            known |= parts
            if part and self.PARTS and part not in parts:
                continue
            try:
                json.dumps(row, ensure_ascii=False).encode()
            except UnicodeEncodeError:
                self.mended += 1
                row = mended(row)
            yield number, row
        if self.config.part and part not in known:
            raise unknown("configuration", part, (self.DEFAULT_CONFIG_NAME, *sorted(known)))


class SourceBuilder(Builder):
    """A builder that reads a source of the user's. `NEEDS` is what to give; `outs` are what of each file is left out."""

    TAKES = ("source", "strict")
    NEEDS = ""
    warns = False

    def about(self, data: Data) -> About:
        """The hash of the source."""
        return About(f"sha256 {self.fingerprint[:12]}")

    @cached_property
    def outs(self) -> dict[str, LeftOut]:
        return {}

    @property
    def left_out(self) -> LeftOut:
        """What of the rows that were read could not be used."""
        return together(self.name_of_source, self.outs.values())

    def found(self) -> Splits:
        """The rows of the source by split, before anything is checked. Raises UserError where there are none."""
        return row_files.splits(self._source(), flag="--source")

    def one_split(self) -> Rows:
        """The rows of the split named test, or of the only one. Raises UserError where one must be chosen."""
        return row_files.the_one(self.found(), self.name_of_source)

    @property
    def name_of_source(self) -> str:
        """What the rows stand in, as places of rows begin with it."""
        return self._source()

    @property
    def fingerprint(self) -> str:
        """SHA-256 of a source file, or over the files of several; of rows that stand in no file over these."""
        splits = self.found()
        files = sorted({path for rows in splits.values() for path in rows.files})
        if files:
            hashes = [sha256(path) for path in files]
            return hashes[0] if len(files) == 1 else digest("\n".join(hashes))
        return hash_of([split, record.row] for split, rows in splits.items() for record in rows)

    def sifted(
        self, rows: Rows, parse: Callable[[Record], Iterable[T]], key: Callable[[T], object] | None = None
    ) -> Iterator[T]:
        """What `parse` makes of the rows that can be used; what of them cannot is noted at their end."""
        sieve = Sieve(rows.name, rows.entries(), parse, key=key, strict=self.config.strict)
        yield from sieve
        self.outs[rows.name] = sieve.left_out
        if self.warns and sieve.left_out:
            _LOG.warning("%s", sieve.left_out)

    def as_streaming_dataset(self, *args: Any, **options: Any) -> Any:
        """As that of `datasets`; what is left out is logged when all rows were read."""
        self.warns = True
        return super().as_streaming_dataset(*args, **options)

    def _source(self) -> str:
        if self.config.source:
            return self.config.source
        raise UserError(f"{self.name} needs --source: {self.NEEDS}")


def hash_of(rows: Iterable[Any]) -> str:
    """SHA-256 over rows."""
    content = hashlib.sha256()
    for row in rows:
        content.update(json.dumps(row, sort_keys=True, default=str).encode())
    return content.hexdigest()


def configs(*names: str) -> list[SourceConfig]:
    """Builder configurations of these names."""
    return [SourceConfig(name=name) for name in names]
