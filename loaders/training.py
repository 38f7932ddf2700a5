"""Rows to train on, of anything that judges are asked about: prompts with criteria, labelled rubrics, preference pairs.

`prompts` are what a model is asked, with the criteria of its answers: `trl.GRPOTrainer` with
`truebench_hf.checklist_reward` takes them as they are. `labels` are one rubric of one response each, for judges and
reward models. `pairs` are a better and a worse answer to one prompt, for `trl.DPOTrainer` and its like. The source is rows in the columns of `rubric_eval` (also the pairs of `truebench study contrast`
and the labels of `truebench study arbitrate`), rows with prompt and criteria, or SOURCE:PATH.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import datasets

from truebench_hf.benchmarks.rubric_eval import data as rubric_data
from truebench_hf.benchmarks.truebench import data as instance_data
from truebench_hf.data import catalogue, instances, row_files, sources
from truebench_hf.data.judged import as_answered, names_fault, sent
from truebench_hf.data.row_files import LeftOut
from truebench_hf.data.rows import Record
from truebench_hf.data.rubrics import Item
from truebench_hf.errors import UserError
from truebench_hf.loaders.builders import About, Data, Row, SourceBuilder, configs, hash_of
from truebench_hf.loaders.rows import texts
from truebench_hf.types import Instance, Message

_WEIGHT = datasets.Value("float64")
_MESSAGES = datasets.List(texts("role", "content"))
_CRITERIA = datasets.List(texts("text", "weight", "kind", "condition", weight=_WEIGHT))
FEATURES = {
    "prompts": texts(
        "id", "prompt", "criteria", "reference", "language", "category", prompt=_MESSAGES, criteria=_CRITERIA
    ),
    "labels": texts(
        "id", "instruction_id", "prompt", "response", "rubric", "label", "weight", "model", "language", "source",
        prompt=_MESSAGES, label=datasets.ClassLabel(names=["no", "yes"]), weight=_WEIGHT,
    ),
    "pairs": texts(
        "id", "instruction_id", "prompt", "chosen", "rejected", "rubric", "language", "source",
        prompt=_MESSAGES, chosen=_MESSAGES, rejected=_MESSAGES,
    ),
}  # fmt: skip
TRAIN = "train"
_OWN = ("instruction_category", "response")  # columns by which rows of rubric_eval are known


@dataclass
class Read:
    """What a source holds: conversations to be had, responses with rubrics (none where nobody answered)."""

    instances: list[Instance]
    items: list[Item] = field(default_factory=list)
    left_out: LeftOut = field(default_factory=LeftOut)


def read(source: str, strict: bool = False, columns: Mapping[str, str] | None = None) -> Read:
    """A source, whichever of the three it is; of several splits the one named train, so that no test is trained on.

    `columns` maps the names of rows with prompt and criteria. Raises UserError naming what cannot be read.
    """
    if sources.is_source(source):
        _refuse(columns, f"--source {source}")
        kind, _, path = source.partition(":")
        items = sources.read(kind, path, strict=strict, warns=False, split=TRAIN)
        return Read(sources.of_items(kind, items), list(items), items.left_out)
    splits: Mapping[str, Iterable[Record]]
    where = (instance_data.located(source), instance_data.NAMES, "--source")
    if catalogue.built(source, "rubric_mini"):
        rows = rubric_data.load(source, "--source")
        splits = {"": [Record(f"{source}, row {number}", row) for number, row in enumerate(rows, 1)]}
    else:
        splits = row_files.splits(*where)
    splits = {TRAIN: splits[TRAIN]} if TRAIN in splits else splits
    first = next(iter(next(iter(splits.values()))), None)
    if first is None or not all(name in first.row for name in _OWN):
        records = splits[TRAIN] if TRAIN in splits else row_files.one_split(*where)
        if first is not None and "verdicts" in first.row and "criteria" not in (columns or {}):
            raise UserError(
                f"{first.where}: holds the verdicts of a judge, and answers; for prompts give the data that the run was made "
                "with; for verdicts to train on: truebench study export FOLDER --to sft"
            )
        by_hand = {ours: (theirs,) for ours, theirs in (columns or {}).items()}
        return Read(instances.of_rows(records, by_hand, judged=False))
    _refuse(columns, "rows in the columns of rubric_eval")
    items = sources.by_response(source, chain.from_iterable(splits.values()), strict)
    return Read(sources.of_items("rubric_eval", items), list(items), items.left_out)


def prompt_rows(instances: Iterable[Instance]) -> Iterator[Row]:
    """What a model is sent and what its answer must meet. Of several turns only the first can be asked: those after it
    rest on the model's own answers."""
    for instance in instances:
        turn = instance.turns[0]
        if turn.criteria:
            row = {"id": instance.id, "prompt": _plain(sent(instance, as_answered(instance, [""])[:-1]))}
            row["criteria"] = [{name: getattr(c, name) for name in _CRITERIA.feature} for c in turn.criteria]
            about = {"language": instance.language, "category": instance.category}
            yield row | {"reference": turn.reference, **about}


def label_rows(items: Iterable[Item]) -> Iterator[Row]:
    """Every rubric that somebody answered by yes or no."""
    for item in items:
        for rubric in item.rubrics:
            if rubric.label in ("yes", "no"):
                label = {"label": rubric.label, "weight": item.case.criteria[rubric.index].weight}
                answer = {"response": item.case.response, "model": item.model}
                yield _about(item, rubric.id, rubric.text) | label | answer


def pair_rows(items: Iterable[Item]) -> Iterator[Row]:
    """Two answers that differ in one rubric (`pair_id` of contrast pairs), or of which one is preferred (LLMBar ...).

    `chosen` meets the rubric; where that names a fault, it is without it. Beside a preference stand all rubrics of the
    instruction, a line each. What is no whole pair is left out.
    """
    halves: dict[str, dict[bool, tuple[Item, str]]] = {}
    for item in items:
        if "preferred" in item.facts:
            criteria = "\n".join(criterion.text for criterion in item.case.criteria)
            halves.setdefault(item.instruction_id, {})[bool(item.facts["preferred"])] = (item, criteria)
        for rubric in item.rubrics:
            if (pair := rubric.row.get("pair_id")) and rubric.label in ("yes", "no"):
                good = (rubric.label == "yes") != names_fault(rubric.text)
                halves.setdefault(str(pair), {})[good] = (item, rubric.text)
    for name, both in halves.items():
        if len(both) == 2:
            (better, text), (worse, _) = both[True], both[False]
            answers = {"chosen": better.case.response, "rejected": worse.case.response}
            messages = {which: _plain([Message("assistant", answer)]) for which, answer in answers.items()}
            yield _about(better, name, text) | messages


def _about(item: Item, name: str, rubric: str) -> Row:
    language = "" if item.language == "UND" else item.language
    names = {"id": name, "instruction_id": item.instruction_id, "language": language, "source": item.source}
    return names | {"prompt": _plain(item.messages), "rubric": rubric}


def _plain(messages: Iterable[Message]) -> list[dict[str, str]]:
    return [{"role": message.role, "content": message.content} for message in messages]


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
        turns = [instance.turns for instance in self.read.instances]
        notes = {
            "conversations with further turns to be answered, of which no prompt is made": sum(
                len(t) > 1 for t in turns
            ),
            "prompts without criteria, of which no row is made": sum(not first.criteria for first, *_ in turns),
        }
        digest = hash_of(row for splits in data.values() for rows in splits.values() for row in rows)
        present = tuple(f"{what}: {count:,}" for what, count in notes.items() if count)
        return About(f"sha256 {digest[:12]}", present)

    @property
    def columns(self) -> datasets.Features:
        """The columns of the configuration."""
        return FEATURES[self.config.name]

    @cached_property
    def read(self) -> Read:
        """What the source holds."""
        held = read(self._source(), self.config.strict, self.config.columns)
        self.outs[self._source()] = held.left_out
        return held

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator(TRAIN)]

    def rows(self) -> Iterator[Row]:
        if self.config.name == "prompts":
            yield from prompt_rows(self.read.instances)
        else:
            yield from {"labels": label_rows, "pairs": pair_rows}[self.config.name](self.read.items)


def _refuse(columns: Mapping[str, str] | None, what: str) -> None:
    for ours, theirs in (columns or {}).items():
        raise UserError(f"--column {ours}={theirs}: has no use with {what}, whose columns are known; leave it out")
