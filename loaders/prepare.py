"""Run a corpus' builder and hold the rows in memory: nothing stays in a cache that could go stale."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from truebench_hf.errors import UserError, unknown
from truebench_hf.loaders.catalogue import corpus, entry
from truebench_hf.loaders.source import resolve
from truebench_hf.loaders.usable import LeftOut

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Reading:
    """How to read a source: where it is, the split it is where it does not say so, and our names for its columns.

    `strict`: the first row that cannot be used is an error.
    """

    source: str | None = None
    split: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False


def prepared(name: str, config: str, reading: Reading) -> tuple[Any, LeftOut]:
    """A `datasets.DatasetDict` of one configuration that the builder itself knows, in memory; and what is left out.

    Raises UserError on an option the data set does not take, and on whatever its row functions find wrong.
    """
    from datasets import DatasetDict
    from datasets.exceptions import DatasetGenerationError

    options = _options(name, reading)
    with tempfile.TemporaryDirectory(prefix="truebench-") as cache, quiet():
        builder = corpus(name).builder(cache_dir=cache, config_name=config, **options)
        try:
            builder.download_and_prepare()
        except DatasetGenerationError as error:
            if isinstance(error.__cause__, UserError):
                raise error.__cause__ from None
            raise
        splits = {split: builder.as_dataset(split, in_memory=True) for split in builder.info.splits}
        return DatasetDict(splits), getattr(builder, "left_out", LeftOut())


def load(name: str, config: str | None = None, split: str | None = None, reading: Reading | None = None) -> Any:
    """A `datasets.Dataset`, or without `split` a `DatasetDict`; see `truebench_hf.load`."""
    its, reading = corpus(name), reading or Reading()
    config = config or its.configs[0]
    if name == "facts_grounding" and split:
        reading = replace(reading, split=split)
    with tempfile.TemporaryDirectory(prefix="truebench-") as scratch:
        reading = replace(reading, source=resolve(name, reading.source, Path(scratch)))
        splits, left_out = prepared(name, config if config in its.configs else its.configs[0], reading)
    if left_out:
        _LOG.warning("%s", left_out)
    if config not in its.configs:
        derived = subsets(name, splits)
        if config not in derived:
            raise unknown("configuration", config, (*its.configs, *derived))
        splits = derived[config]
    if split is None:
        return splits
    if split not in splits:
        raise unknown("split", split, splits)
    return splits[split]


def whole(name: str, reading: Reading) -> tuple[dict[str, Any], LeftOut]:
    """Every configuration of a data set as a `DatasetDict`: those of the builder, and the subsets of the first.

    Beside them what is left out of them. Subsets come in the order of their kind, then by name; each keeps the order of
    the rows.
    """
    its = corpus(name)
    made = {config: prepared(name, config, reading) for config in its.configs}
    data = {config: splits for config, (splits, _) in made.items()}
    # A builder of several configurations reads all of the source for each of them.
    return data | subsets(name, data[its.configs[0]]), made[its.configs[0]][1]


def subsets(name: str, splits: Any) -> dict[str, Any]:
    """The configurations that derive from the first one, each a `DatasetDict`, from that one's splits."""
    from datasets import DatasetDict

    places: dict[tuple[int, str], dict[str, list[int]]] = {}
    for split, table in splits.items():
        for place, row in enumerate(named(table)):
            for key in enumerate(corpus(name).subsets(row)):
                places.setdefault(key, {s: [] for s in splits})[split].append(place)
    return {
        key[1]: DatasetDict({split: splits[split].select(chosen) for split, chosen in places[key].items()})
        for key in sorted(places)
    }


def named(table: Any) -> list[dict[str, Any]]:
    """The rows of a `datasets.Dataset`, with the names of class labels in place of their numbers."""
    from datasets import ClassLabel

    labels = {column: f.names for column, f in table.features.items() if isinstance(f, ClassLabel)}
    rows: list[dict[str, Any]] = table.to_list()
    for row in rows:
        row.update({c: names[row[c]] for c, names in labels.items() if row[c] is not None})
    return rows


def _options(name: str, reading: Reading) -> dict[str, Any]:
    given = {"source": reading.source, "split": reading.split, "columns": dict(reading.columns)}
    given["strict"] = reading.strict
    options = {key: value for key, value in given.items() if value}
    if entry(name).source is None and options:
        raise UserError(f"{name} is built in and takes no --{next(iter(options)).removesuffix('s')}")
    if "split" in options and name != "facts_grounding":
        raise UserError(f"{name}: --split is only for facts_grounding, whose file does not say it")
    if "columns" in options and name != "rubric_eval":
        raise UserError(f"{name}: --column is only for rubric_eval")
    if reading.source and name in ("facts_grounding", "checklists", "truebench") and Path(reading.source).is_dir():
        raise UserError(f"--source {reading.source}: is a folder; {name} is read from a file")
    return options


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars from datasets: builds take seconds, and their output would drown ours."""
    import datasets

    before = datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        if not before:
            datasets.enable_progress_bars()
