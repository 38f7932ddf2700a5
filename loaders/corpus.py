"""What every corpus module says about itself, beside its builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from truebench_hf.loaders.builders import Builder
from truebench_hf.loaders.counts import Table
from truebench_hf.loaders.stored import Stored
from truebench_hf.version import __version__

Data = Mapping[str, Mapping[str, Stored]]  # configuration -> split -> rows


@dataclass(frozen=True)
class About:
    """What a builder has to say about the data it was given: a version, remarks, and tables for the card."""

    version: str
    notes: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()


def built_in(builder: Builder, data: Data) -> About:
    """What there is to say of rows that ship with this package: its version."""
    return About(__version__)


@dataclass(frozen=True)
class Corpus:
    """A corpus: its builder, the configurations that builder prepares, and functions for its card.

    Further configurations are the parts of the first one (see `Builder.PARTS`). `counted` are the columns counted on the
    card, `totals` whatever else is worth a number, `about` looks at source and rows. Of a `sparse` corpus a configuration
    without rows, which `load_dataset` could not read, is left out; the first one stays.
    """

    builder: type[Builder]
    about: Callable[[Builder, Data], About]
    configs: tuple[str, ...] = ("all",)
    counted: tuple[str, ...] = ("language",)
    totals: Callable[[Data], dict[str, int]] = lambda data: {}
    sparse: bool = False
