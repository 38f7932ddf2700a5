"""Rows to train on, of anything that judges are asked about: prompts with criteria, labelled rubrics, preference pairs.

Three configurations of one source. It is rows in the columns of `rubric_eval` (also the pairs of `truebench study contrast`
and the labels of `truebench study arbitrate`), rows with prompt and criteria, or SOURCE:PATH.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import datasets

from truebench_hf.benchmarks.rubric_eval import data as rubric_data
from truebench_hf.benchmarks.truebench import data as instance_data
from truebench_hf.data import catalogue, instances, row_files, sources
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item, Responses, UnansweredRow
from truebench_hf.data.usable import LeftOut, Sieve
from truebench_hf.errors import UserError
from truebench_hf.loaders.builders import Builder, Row, SourceBuilder, configs
from truebench_hf.loaders.corpus import About, Corpus, Data
from truebench_hf.loaders.training_rows import label_rows, pair_rows, prompt_rows
from truebench_hf.types import Instance

TEXT = datasets.Value("string")
MESSAGES = datasets.List({"role": TEXT, "content": TEXT})
FEATURES = {
    "prompts": datasets.Features(
        {
            "id": TEXT,
            "prompt": MESSAGES,
            "criteria": datasets.List(
                {"text": TEXT, "weight": datasets.Value("float64"), "kind": TEXT, "condition": TEXT}
            ),
            "reference": TEXT,
            "language": TEXT,
            "category": TEXT,
        }
    ),
    "labels": datasets.Features(
        {
            "id": TEXT,
            "instruction_id": TEXT,
            "prompt": MESSAGES,
            "response": TEXT,
            "rubric": TEXT,
            "label": datasets.ClassLabel(names=["no", "yes"]),
            "weight": datasets.Value("float64"),
            "model": TEXT,
            "language": TEXT,
            "source": TEXT,
        }
    ),
    "pairs": datasets.Features(
        {
            "id": TEXT,
            "instruction_id": TEXT,
            "prompt": MESSAGES,
            "chosen": MESSAGES,
            "rejected": MESSAGES,
            "rubric": TEXT,
            "language": TEXT,
            "source": TEXT,
        }
    ),
}
TRAIN = "train"
_OWN = ("instruction_category", "response")  # columns by which rows of rubric_eval are known


@dataclass
class Read:
    """What a source holds: conversations to be had, responses with rubrics (none where nobody answered)."""

    instances: list[Instance]
    items: list[Item] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)
    unread: int = 0  # rows with labels in other columns than those that labels are read of


def read(source: str, strict: bool = False, columns: Mapping[str, str] | None = None) -> Read:
    """A source, whichever of the three it is; of several splits the one named train, so that no test is trained on.

    `columns` maps the names of rows with prompt and criteria. Raises UserError naming what cannot be read.
    """
    if sources.is_source(source):
        _refuse(columns, f"--source {source}")
        kind, _, path = source.partition(":")
        items = sources.read(kind, path, strict=strict, warns=False, split=TRAIN)
        return Read(sources.of_items(kind, items), list(items), items.left_out)
    found: Mapping[str, Iterable[Record]]
    if catalogue.built(source, "rubric_mini"):
        found = {"": _numbered(source, rubric_data.load(source, "--source"))}
    else:
        found = row_files.splits(instance_data.located(source), instance_data.NAMES, "--source")
    found = {TRAIN: found[TRAIN]} if TRAIN in found else found
    first = next(iter(next(iter(found.values()))), None)
    if first is None or not all(name in first.row for name in _OWN):
        rows = (
            found[TRAIN]
            if TRAIN in found
            else row_files.one_split(instance_data.located(source), instance_data.NAMES, "--source")
        )
        if first is not None and "verdicts" in first.row and "criteria" not in (columns or {}):
            raise UserError(
                f"{first.where}: holds the verdicts of a judge, and answers; for prompts give the data that the run was made "
                "with; for verdicts to train on: truebench study export FOLDER --to sft"
            )
        return Read(instances.of_rows(rows, columns, judged=False), unread=sum(map(_labelled, rows)))
    _refuse(columns, "rows in the columns of rubric_eval")
    return _of_labelled(source, chain.from_iterable(found.values()), strict)


def _refuse(columns: Mapping[str, str] | None, what: str) -> None:
    for ours, theirs in (columns or {}).items():
        raise UserError(f"--column {ours}={theirs}: has no use with {what}, whose columns are known; leave it out")


def _labelled(record: Record) -> bool:
    """Whether a row with a prompt holds labels, too, by itself or with its criteria."""
    given = [record.row.get(name) for name in ("label", "labels")]
    for name in ("criteria", "rubric", "rubrics", "checklist"):
        found = record.row.get(name)
        given += [one.get("label") for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    return any(value is not None and value != "" and value != [] for value in given)


def _of_labelled(source: str, rows: Iterable[Record], strict: bool) -> Read:
    found = Responses(UnansweredRow)

    def add(record: Record) -> list[Item]:
        found.add(record)
        return []

    sieve = Sieve(source, rows, add, strict=strict)
    list(sieve)
    return Read(sources.of_items("rubric_eval", found.items), found.items, sieve.left_out)


def _numbered(source: str, rows: Iterable[Row]) -> list[Record]:
    return [Record(f"{source}, row {number}", row) for number, row in enumerate(rows, 1)]


def totals(data: Data) -> dict[str, int]:
    """How many rows of each kind there are."""
    return {name: sum(map(len, splits.values())) for name, splits in data.items()}


def about(builder: Builder, data: Data) -> About:
    """The hash of the rows, wherever they came from, and how many conversations go on behind the first turn."""
    assert isinstance(builder, Training)
    longer = sum(len(instance.turns) > 1 for instance in builder.read.instances)
    notes = (
        [f"conversations with further turns to be answered, of which no prompt is made: {longer:,}"] if longer else []
    )
    if bare := sum(not instance.turns[0].criteria for instance in builder.read.instances):
        notes.append(f"prompts without criteria, of which no row is made: {bare:,}")
    if unread := builder.read.unread:
        notes.append(
            f"rows whose labels were not read: {unread:,}; labels are read of rows in the columns of rubric_eval "
            "(messages, response, instruction_category, rubric, label)"
        )
    every = hashlib.sha256()
    for splits in data.values():
        for rows in splits.values():
            for row in rows:
                every.update(json.dumps(row, sort_keys=True).encode())
    return About(f"sha256 {every.hexdigest()[:12]}", tuple(notes))


class Training(SourceBuilder):
    """`source`: rows of rubric_eval, rows with prompt and criteria, or SOURCE:PATH; also a built-in name."""

    BUILDER_CONFIGS = configs(*FEATURES)
    DEFAULT_CONFIG_NAME = "prompts"
    TAKES = ("source", "strict", "columns")
    NEEDS = "labelled rows, rows with prompt and criteria, or SOURCE:PATH (see `truebench data list`)"

    @property
    def columns(self) -> datasets.Features:
        """The columns of the configuration."""
        return FEATURES[self.config.name]

    @cached_property
    def read(self) -> Read:
        """What the source holds."""
        found = read(self._source(), self.config.strict, self.config.columns)
        self.outs[self._source()] = found.left_out
        return found

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(TRAIN)]

    def rows(self) -> Iterator[Row]:
        made: dict[str, Callable[[], Iterator[Row]]] = {
            "prompts": lambda: prompt_rows(self.read.instances),
            "labels": lambda: label_rows(self.read.items),
            "pairs": lambda: pair_rows(self.read.items),
        }
        yield from made[self.config.name]()


CORPUS = Corpus(Training, about, configs=tuple(FEATURES), totals=totals, sparse=True)
