"""What every corpus module says about itself, beside its ordinary `datasets` builder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import datasets

from truebench_hf import __version__
from truebench_hf.loaders.counts import Table
from truebench_hf.loaders.usable import LeftOut, Usable

T = TypeVar("T")
Row = dict[str, Any]
Data = Mapping[str, Mapping[str, Sequence[Row]]]  # configuration -> split -> rows


@dataclass
class SourceConfig(datasets.BuilderConfig):
    """Configuration of a builder: where its rows come from (None: what is built in or pinned), and how to read them.

    `split` names the split of a corpus whose file does not say it; `columns` maps our column names to the file's.
    With `strict` the first row that cannot be used is an error; otherwise it is left out and told.
    """

    source: str | None = None
    split: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    strict: bool = False

    def create_config_id(self, config_kwargs: dict[str, Any], custom_features: Any = None) -> str:
        """The cache's name for this configuration; it changes with the contents of the source and our version."""
        state = {**config_kwargs, "contents": f"{__version__} {fingerprint(self.source)}"}
        return str(super().create_config_id(state, custom_features))


class Builder(datasets.GeneratorBasedBuilder):
    """A builder as most are: one form of rows, one split. What is built in takes no source and needs no more."""

    VERSION = datasets.Version("1.0.0")
    DEFAULT_CONFIG_NAME = "all"
    FEATURES: datasets.Features
    LICENSE = "apache-2.0"

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=self.FEATURES, license=self.LICENSE)

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator("test")]


class SourceBuilder(Builder):
    """A builder that reads a file of the user's. `left_out` tells of the rows that it could not use."""

    BUILDER_CONFIG_CLASS = SourceConfig
    left_out = LeftOut()

    def noting(self, found: Usable[T]) -> Usable[T]:
        """The rows, with what is missing from them noted."""
        self.left_out = found.left_out
        return found


@dataclass(frozen=True)
class About:
    """What a builder has to say about the data it was given: a version, remarks, and tables for the card."""

    version: str
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def built_in(source: str | None, data: Data) -> About:
    """What there is to say of rows that ship with this package: its version."""
    return About(__version__)


def _nothing(row: Row) -> tuple[str, ...]:
    return ()


@dataclass(frozen=True)
class Corpus:
    """A corpus: its builder, the configurations that builder prepares, and row functions for what derives from them.

    `subsets` gives, for a row of the first configuration, the further configurations it belongs to. `counted` are the
    columns counted on the card, `totals` whatever else is worth a number, `about` looks at source and rows.
    """

    builder: type[datasets.GeneratorBasedBuilder]
    about: Callable[[str | None, Data], About]
    configs: tuple[str, ...] = ("all",)
    subsets: Callable[[Row], tuple[str, ...]] = _nothing
    counted: tuple[str, ...] = ("language",)
    totals: Callable[[Data], dict[str, int]] = lambda data: {}


def configs(*names: str) -> list[SourceConfig]:
    """Builder configurations of these names."""
    return [SourceConfig(name=name) for name in names]


def fingerprint(source: str | None) -> str:
    """SHA-256 of a source file, or over the files of a source folder; an empty text without a source."""
    if source is None:
        return ""
    path = Path(source)
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path] if path.is_file() else []
    hashes = [hashlib.sha256(p.read_bytes()).hexdigest() for p in files]
    return hashes[0] if path.is_file() else hashlib.sha256("\n".join(hashes).encode()).hexdigest()
