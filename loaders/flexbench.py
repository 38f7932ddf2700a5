"""FlexBench (paper 001): instructions, the dimensions they were taken apart into, and simulated conversations.

Three configurations that refer to each other by id. Dimensions with the same `precondition_group` share a
precondition (section 4.1); a verdict is yes, no or unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from pathlib import Path

import datasets

from truebench_hf import __version__
from truebench_hf.errors import UserError
from truebench_hf.loaders.corpus import About, Corpus, Data, Row, SourceConfig, configs, fingerprint
from truebench_hf.loaders.rows import strict, unique
from truebench_hf.loaders.sources.record import records

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


def rows(folder: Path, config: str) -> list[Row]:
    """The rows of one of the three files in a folder. Raises UserError naming the line and the field."""
    path = folder / f"{config}.jsonl"
    if not path.is_file():
        raise UserError(
            f"{folder}: holds no {path.name}; flexbench needs {', '.join(f'{name}.jsonl' for name in FEATURES)}"
        )
    read = strict(records(path), FEATURES[config], nullable=frozenset({"precondition"}))
    return list(unique(read, "id", str(path)))


def check_references(data: Mapping[str, Sequence[Row]]) -> None:
    """Every id that a dimension or conversation names must exist. Raises UserError naming the row and the field."""
    instructions = {row["id"] for row in data["instructions"]}
    owner = {row["id"]: row["instruction_id"] for row in data["dimensions"]}
    for config in ("dimensions", "conversations"):
        for row in data[config]:
            if row["instruction_id"] not in instructions:
                raise _dangling(config, row, "instruction_id", row["instruction_id"])
    for row in data["conversations"]:
        named = {
            "target_dimensions": row["target_dimensions"],
            "verdicts": [v["dimension_id"] for v in row["verdicts"]],
        }
        for field, ids in named.items():
            for name in ids:
                if owner.get(name) != row["instruction_id"]:
                    raise _dangling("conversations", row, field, name)


def _dangling(config: str, row: Row, field: str, name: str) -> UserError:
    return UserError(
        f"{config}.jsonl, {row['id']}: field {field!r} names {name!r}, which is not there for its instruction"
    )


def checked(folder: Path, config: str) -> list[Row]:
    """The rows of one file, once all three have been found to fit together."""
    data = {name: rows(folder, name) for name in FEATURES}
    check_references(data)
    return data[config]


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


class FlexBench(datasets.GeneratorBasedBuilder):
    """`source`: a folder with the three files (default: those built in)."""

    VERSION = datasets.Version("1.0.0")
    BUILDER_CONFIG_CLASS = SourceConfig
    BUILDER_CONFIGS = configs(*FEATURES)
    DEFAULT_CONFIG_NAME = "instructions"

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=FEATURES[self.config.name], license="apache-2.0")

    def _split_generators(self, dl_manager: datasets.DownloadManager) -> list[datasets.SplitGenerator]:
        return [datasets.SplitGenerator("test")]

    def _generate_examples(self) -> Iterator[tuple[int, Row]]:
        if self.config.source:
            yield from enumerate(checked(Path(self.config.source), self.config.name))
            return
        with as_file(files("truebench_hf.benchmarks.flexbench") / "samples") as folder:
            yield from enumerate(checked(folder, self.config.name))


CORPUS = Corpus(FlexBench, about, configs=tuple(FEATURES), counted=("language", "kind"), totals=totals)
