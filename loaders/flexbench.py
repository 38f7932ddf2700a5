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

import datasets

from truebench_hf import __version__
from truebench_hf.errors import UserError
from truebench_hf.loaders.corpus import About, Corpus, Data, Row, SourceBuilder, configs, fingerprint
from truebench_hf.loaders.rows import fitted
from truebench_hf.loaders.usable import Usable, joined, usable
from truebench_hf.rows import Record

TEXT = datasets.Value("string")
FEATURES = {
    "instructions": datasets.Features(
        {
            "id": TEXT,
            "language": TEXT,
            "kind": TEXT,
            "title": TEXT,
            "instruction": TEXT,
            "words": datasets.Value("int64"),
        }
    ),
    "dimensions": datasets.Features(
        dict.fromkeys(("id", "instruction_id", "dimension", "precondition_group", "precondition", "question"), TEXT)
    ),
    "conversations": datasets.Features(
        {
            "id": TEXT,
            "instruction_id": TEXT,
            "target_dimensions": datasets.List(TEXT),
            "persona": TEXT,
            "messages": datasets.List({"role": TEXT, "content": TEXT}),
            "verdicts": datasets.List(
                {"dimension_id": TEXT, "label": datasets.ClassLabel(names=["no", "yes", "unknown"])}
            ),
            "label_source": TEXT,
        }
    ),
}


def read(folder: Path, strict: bool = False) -> dict[str, Usable[Row]]:
    """The rows of the three files in a folder that can be used and fit together; see `usable`."""
    data: dict[str, Usable[Row]] = {}
    for config in FEATURES:  # what others refer to comes first
        path = folder / f"{config}.jsonl"
        if not path.is_file():
            raise UserError(
                f"{folder}: holds no {path.name}; flexbench needs {', '.join(f'{name}.jsonl' for name in FEATURES)}"
            )
        known = {name: {row["id"]: row for row in rows} for name, rows in data.items()}
        data[config] = usable(path, partial(_row, config, known), key=itemgetter("id"), strict=strict)
    return data


def _row(config: str, known: Mapping[str, Mapping[str, Row]], record: Record) -> list[Row]:
    """A row that fits; every id that it names must be there. `known` are the rows by id of the files before."""
    row = fitted(record, FEATURES[config], nullable=frozenset({"precondition"}))
    if config != "instructions" and row["instruction_id"] not in known["instructions"]:
        raise _dangling(record, row, "instruction_id", row["instruction_id"])
    if config == "conversations":
        of_verdicts = [verdict["dimension_id"] for verdict in row["verdicts"]]
        for field, ids in (("target_dimensions", row["target_dimensions"]), ("verdicts", of_verdicts)):
            for name in ids:
                if known["dimensions"].get(name, {}).get("instruction_id") != row["instruction_id"]:
                    raise _dangling(record, row, field, name)
    return [row]


def _dangling(record: Record, row: Row, field: str, name: str) -> UserError:
    return UserError(
        f"{record.where}, {row['id']}: field {field!r} names {name!r}, which is not there for its instruction"
    )


def totals(data: Data) -> dict[str, int]:
    """Instructions, dimensions, precondition groups, conversations and verdicts."""
    dimensions, conversations = data["dimensions"]["test"], data["conversations"]["test"]
    return {
        "instructions": len(data["instructions"]["test"]),
        "dimensions": len(dimensions),
        "precondition groups": len({(row["instruction_id"], row["precondition_group"]) for row in dimensions}),
        "conversations": len(conversations),
        "verdicts": sum(len(row["verdicts"]) for row in conversations),
    }


def about(source: str | None, data: Data) -> About:
    """The version of this package for what is built in, else the hash of the files."""
    return About(f"sha256 {fingerprint(source)[:12]}" if source else __version__)


class FlexBench(SourceBuilder):
    """`source`: a folder with the three files (default: those built in)."""

    BUILDER_CONFIGS = configs(*FEATURES)
    DEFAULT_CONFIG_NAME = "instructions"

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=FEATURES[self.config.name], license="apache-2.0")

    def _generate_examples(self) -> Iterator[tuple[int, Row]]:
        if self.config.source:
            data = read(Path(self.config.source), self.config.strict)
            self.noting(joined(self.config.source, data.values()))
        else:
            with as_file(files("truebench_hf.benchmarks.flexbench") / "samples") as folder:
                data = read(folder, strict=True)
        yield from enumerate(data[self.config.name])


CORPUS = Corpus(FlexBench, about, configs=tuple(FEATURES), counted=("language", "kind"), totals=totals)
