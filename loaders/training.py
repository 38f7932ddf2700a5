"""Rows to train on, of anything that judges are asked about: prompts with criteria, labelled rubrics, preference pairs.

`prompts` are what a model is asked, with the criteria of its answers: `trl.GRPOTrainer` with
`truebench_hf.checklist_reward` takes them as they are. `labels` are one rubric of one response each, for judges and
reward models. `pairs` are a better and a worse answer to one prompt, for `trl.DPOTrainer` and its like. The source is rows in the columns of `rubric_eval` (also the pairs of `truebench study contrast`
and the labels of `truebench study arbitrate`), rows with prompt and criteria, or SOURCE:PATH.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

import datasets

from truebench_hf.benchmarks.rubric_eval import data as rubric_data
from truebench_hf.benchmarks.truebench import data as instance_data
from truebench_hf.data import catalogue, instances, row_files, sources
from truebench_hf.data.case import as_answered, names_fault, sent
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item
from truebench_hf.data.usable import LeftOut
from truebench_hf.errors import UserError
from truebench_hf.loaders.builders import About, Data, Row, SourceBuilder, configs
from truebench_hf.types import Criterion, Instance, Message

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
    items = sources.by_response(source, chain.from_iterable(found.values()), strict)
    return Read(sources.of_items("rubric_eval", items), list(items), items.left_out)


def prompt_rows(instances: Iterable[Instance]) -> Iterator[Row]:
    """What a model is sent and what its answer must meet. Of several turns only the first can be asked: those after it
    rest on the model's own answers."""
    for instance in instances:
        turn = instance.turns[0]
        if turn.criteria:
            messages = sent(instance, as_answered(instance, [""])[:-1])
            about = {"language": instance.language, "category": instance.category}
            criteria = list(map(_criterion, turn.criteria))
            yield {
                "id": instance.id,
                "prompt": _plain(messages),
                "criteria": criteria,
                "reference": turn.reference,
                **about,
            }


def label_rows(items: Iterable[Item]) -> Iterator[Row]:
    """Every rubric that somebody answered by yes or no."""
    for item in items:
        for rubric in item.rubrics:
            if rubric.label in ("yes", "no"):
                weight = item.case.criteria[rubric.index].weight
                yield {
                    "id": rubric.id,
                    "instruction_id": item.instruction_id,
                    "prompt": _plain(item.messages),
                    "response": item.case.response,
                    "rubric": rubric.text,
                    "label": rubric.label,
                    "weight": weight,
                    "model": item.model,
                    "language": _language(item),
                    "source": item.source,
                }


def pair_rows(items: Iterable[Item]) -> Iterator[Row]:
    """Two answers that differ in one rubric (`pair_id` of contrast pairs), or of which one is preferred (LLMBar ...).

    `chosen` meets the rubric; where that names a fault, it is without it. Beside a preference stand all rubrics of the
    instruction, a line each. What is no whole pair is left out.
    """
    halves: dict[str, dict[bool, tuple[Item, str]]] = {}
    for item in items:
        for name, rubric, good in _halves(item):
            halves.setdefault(name, {})[good] = (item, rubric)
    for name, both in halves.items():
        if len(both) == 2:
            (better, rubric), (worse, _) = both[True], both[False]
            yield {
                "id": name,
                "instruction_id": better.instruction_id,
                "prompt": _plain(better.messages),
                "chosen": _plain([Message("assistant", better.case.response)]),
                "rejected": _plain([Message("assistant", worse.case.response)]),
                "rubric": rubric,
                "language": _language(better),
                "source": better.source,
            }


class Training(SourceBuilder):
    """`source`: rows of rubric_eval, rows with prompt and criteria, or SOURCE:PATH; also a built-in name."""

    BUILDER_CONFIGS = configs(*FEATURES)
    DEFAULT_CONFIG_NAME = "prompts"
    NAME, PREPARED, SPARSE = "training", tuple(FEATURES), True
    TAKES = ("source", "strict", "columns")
    NEEDS = "labelled rows, rows with prompt and criteria, or SOURCE:PATH (see `truebench data list`)"

    @staticmethod
    def totals(data: Data) -> dict[str, int]:
        """How many rows of each kind there are."""
        return {name: sum(map(len, splits.values())) for name, splits in data.items()}

    def about(self, data: Data) -> About:
        """The hash of the rows, wherever they came from, and how many conversations go on behind the first turn."""
        longer = sum(len(instance.turns) > 1 for instance in self.read.instances)
        notes = (
            [f"conversations with further turns to be answered, of which no prompt is made: {longer:,}"]
            if longer
            else []
        )
        if bare := sum(not instance.turns[0].criteria for instance in self.read.instances):
            notes.append(f"prompts without criteria, of which no row is made: {bare:,}")
        if unread := self.read.unread:
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


def _numbered(source: str, rows: Iterable[Row]) -> list[Record]:
    return [Record(f"{source}, row {number}", row) for number, row in enumerate(rows, 1)]


def _halves(item: Item) -> Iterator[tuple[str, str, bool]]:
    """Yield the name of a pair, the rubric that it is about, and whether this response is the better half."""
    if "preferred" in item.facts:
        criteria = "\n".join(criterion.text for criterion in item.case.criteria)
        yield str(item.facts.get("pair", item.instruction_id)), criteria, bool(item.facts["preferred"])
    for rubric in item.rubrics:
        if (name := rubric.row.get("pair_id")) and rubric.label in ("yes", "no"):
            yield str(name), rubric.text, (rubric.label == "yes") != names_fault(rubric.text)


def _language(item: Item) -> str:
    return "" if item.language == "UND" else item.language


def _criterion(criterion: Criterion) -> Mapping[str, Any]:
    return {name: getattr(criterion, name) for name in ("text", "weight", "kind", "condition")}


def _plain(messages: Iterable[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]
