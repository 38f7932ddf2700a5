"""FlexBench (paper 001): instructions, the dimensions they were taken apart into, and simulated conversations.

Three configurations that refer to each other by id. Dimensions with the same `precondition_group` share a
precondition (section 4.1); a verdict is yes, no or unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from importlib.resources import as_file, files
from operator import itemgetter
from pathlib import Path
from typing import Annotated

import datasets
from pydantic import Strict

from truebench_hf.benchmarks.flexbench import procedure
from truebench_hf.data import row_files
from truebench_hf.data.row_files import Splits
from truebench_hf.data.rows import Messages, Record
from truebench_hf.data.rows import Row as RowModel
from truebench_hf.errors import UserError
from truebench_hf.loaders.builders import About, Data, Row, SourceBuilder, configs
from truebench_hf.loaders.rows import of_form, texts
from truebench_hf.types import Label
from truebench_hf.version import __version__


# Others will read these rows: a column that a form does not have is refused.
class Instruction(RowModel, extra="forbid"):
    """A row of `instructions`."""

    id: str
    language: str
    kind: str
    title: str
    instruction: str
    words: Annotated[int, Strict()]


class FlexDimensionRow(RowModel, extra="forbid"):
    """A row of `dimensions`."""

    id: str
    instruction_id: str
    dimension: str
    precondition_group: str
    precondition: str | None
    question: str


class FlexVerdictRow(RowModel, extra="forbid"):
    """The label of a dimension in a conversation."""

    dimension_id: str
    label: Label


class FlexConversationRow(RowModel, extra="forbid"):
    """A row of `conversations`."""

    id: str
    instruction_id: str
    target_dimensions: list[str]
    persona: str
    messages: Messages
    verdicts: list[FlexVerdictRow]
    label_source: str


FORMS = {"instructions": Instruction, "dimensions": FlexDimensionRow, "conversations": FlexConversationRow}
FEATURES = {name: of_form(form) for name, form in FORMS.items()}
_LABEL = datasets.ClassLabel(names=["no", "yes", "unknown"])
FEATURES["conversations"]["verdicts"] = datasets.List(texts("dimension_id", label=_LABEL))


def _row(config: str, known: Mapping[str, Mapping[str, str]], record: Record) -> list[Row]:
    """A row that fits; every id that it names must be there. `known` are ids of the files before, with the instruction
    that each is of."""
    row = record.read(FORMS[config]).model_dump(mode="json")
    names = []
    if config != "instructions" and row["instruction_id"] not in known["instructions"]:
        names.append(("instruction_id", row["instruction_id"]))
    if config == "conversations":
        names += [("target_dimensions", name) for name in row["target_dimensions"]]
        names += [("verdicts", verdict["dimension_id"]) for verdict in row["verdicts"]]
    for field, name in names:
        if field == "instruction_id" or known["dimensions"].get(name) != row["instruction_id"]:
            place = f"{record.where}, {row['id']}"
            raise UserError(f"{place}: field {field!r} names {name!r}, which is not there for its instruction")
    return [row]


def totals(data: Data) -> dict[str, int]:
    """Instructions, dimensions, precondition groups, conversations and verdicts."""
    dimensions, conversations = data["dimensions"]["test"], data["conversations"]["test"]
    groups = zip(dimensions.column("instruction_id"), dimensions.column("precondition_group"), strict=True)
    return {
        "instructions": len(data["instructions"]["test"]),
        "dimensions": len(dimensions),
        "precondition groups": len(set(groups)),
        "conversations": len(conversations),
        "verdicts": sum(map(len, conversations.column("verdicts"))),
    }


class FlexBench(SourceBuilder):
    """`source`: a folder with the three files, a built set or one on the Hub (default: what is built in)."""

    BUILDER_CONFIGS = configs(*FEATURES)
    DEFAULT_CONFIG_NAME = "instructions"
    NAME, PREPARED, COUNTED = "flexbench", tuple(FEATURES), ("language", "kind")
    totals = staticmethod(totals)

    def about(self, data: Data) -> About:
        """The version of this package for what is built in, else the hash of the files."""
        return super().about(data) if self.config.source else About(__version__)

    @property
    def columns(self) -> datasets.Features:
        """The columns of the configuration."""
        return FEATURES[self.config.name]

    @property
    def name_of_source(self) -> str:
        """What the rows stand in, "" for those built in."""
        return super().name_of_source if self.config.source else ""

    def found(self) -> Splits:
        """The rows by configuration. Raises UserError where a file is missing."""
        folder = self._source()
        if procedure.holds_set(Path(folder)) or not Path(folder).exists():  # a built set, or one on the Hub
            by_config = {name: row_files.splits(folder, flag="--source", config=name) for name in FEATURES}
            return {name: row_files.the_one(splits, folder) for name, splits in by_config.items()}
        splits = super().found()
        for name in FEATURES:
            if name not in splits:
                needed = ", ".join(f"{name}.jsonl" for name in FEATURES)
                raise UserError(f"{folder}: holds no {name}.jsonl; flexbench needs {needed}")
        return splits

    def rows(self) -> Iterator[Row]:
        if self.config.source:
            yield from self._read(self.found())
        else:
            with as_file(files("truebench_hf.benchmarks.flexbench") / "samples") as folder:
                yield from self._read(row_files.splits(str(folder)))

    def _read(self, splits: Splits) -> Iterator[Row]:
        """The rows of the configuration; of the files before, which they refer to, only the ids are kept."""
        known: dict[str, dict[str, str]] = {}
        for name in FEATURES:
            rows = self.sifted(splits[name], partial(_row, name, dict(known)), key=itemgetter("id"))
            if name == self.config.name:
                yield from rows
                return
            known[name] = {row["id"]: row.get("instruction_id", row["id"]) for row in rows}
