"""The card of a data set: YAML that the Hub and `load_dataset` read, then text and the counts of what was built.

`python -m truebench_hf.loaders.export FOLDER` writes the cards of all sets, as they stand in dataset_cards/.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from truebench_hf.data.catalogue import Entry
from truebench_hf.report.table import Column, Table
from truebench_hf.version import __version__

Rows = Mapping[str, Mapping[str, int]]  # configuration -> split -> number of rows
FRAMEWORK = "truebench-hf"


@dataclass(frozen=True)
class CardFacts:
    """What the card says of a built set: rows by configuration and split, figures, tables, remarks."""

    version: str
    rows: Rows
    languages: tuple[str, ...]
    totals: Mapping[str, int]
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()


def render(entry: Entry, facts: CardFacts | None, configs: tuple[str, ...]) -> str:
    """The card as Markdown. Without `facts` it describes a set that is yet to be built from the user's file."""
    from huggingface_hub import DatasetCardData

    rows = facts.rows if facts else {config: dict.fromkeys(entry.splits, 0) for config in configs}
    files: list[dict[str, Any]] = [
        {"config_name": c, "data_files": [{"split": s, "path": data_file(c, s)} for s in splits]}
        for c, splits in rows.items()
    ]
    files[0]["default"] = True
    steps = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
    most = max(sum(splits.values()) for splits in rows.values())
    header = DatasetCardData(
        pretty_name=entry.title,
        license=entry.licence,
        language=sorted(facts.languages if facts else entry.languages),
        task_categories=[entry.task],
        size_categories=[next((name for limit, name in steps if most < limit), "n>1M")] if facts else None,
        tags=[*entry.tags, FRAMEWORK],
        configs=files,
    )
    config, splits = list(rows.items())[min(1, len(rows) - 1)]
    text = _environment().get_template(f"{entry.name}.md.jinja").render(
        entry=entry, facts=facts, rows=rows, version=__version__, example=(config, next(iter(splits))),
        repository=entry.repository,
    )  # fmt: skip
    text = re.sub(r"\n{3,}", "\n\n", text).strip()
    return f"---\n{header.to_yaml()}\n---\n\n{text}\n"


def eval_yaml(entry: Entry, rows: Rows) -> str:
    """The eval.yaml that makes the set a benchmark on the Hub: a task for each configuration, of the one split it has.

    Each says how `inspect eval hf/ORG/NAME` asks and grades it, which is an approximation: one turn, one grade for all
    of its criteria.
    """
    import yaml

    how = yaml.safe_load(files("truebench_hf.loaders").joinpath("inspect_fields.yaml").read_text("utf-8"))
    tasks = [
        {"id": config, "config": config, "split": next(iter(splits)), **deepcopy(how)}
        for config, splits in rows.items()
    ]
    content = {"name": entry.title, "description": entry.summary, "evaluation_framework": FRAMEWORK, "tasks": tasks}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def passage(name: str, block: str) -> str:
    """A block of the card of a data set, in one paragraph."""
    template = _environment().get_template(f"{name}.md.jinja")
    return " ".join("".join(template.blocks[block](template.new_context())).split())


def citations(key: str = "") -> str:
    """The BibTeX of the papers and of this package, or of one of them by its key."""
    text = files("truebench_hf").joinpath("citations.txt").read_text("utf-8").strip()
    return next(entry for entry in text.split("\n\n") if f"{{{key}," in entry) if key else text


def addressed(card: str, entry: Entry, repo_id: str, former: str | None = None) -> str:
    """A card for repository `repo_id`: that stands in its commands, in place of the one it was pushed to before."""
    for name in filter(None, (entry.repository, former)):
        card = re.sub(rf"(?:(?<![\w./-])|(?<=\bhf/)){re.escape(name)}(?![\w/-]|\.\w)", lambda _: repo_id, card)
    return card


def data_file(config: str, split: str) -> str:
    """Where the rows of a configuration and split stand in a built folder."""
    return f"data/{config}/{split}.parquet"


def counted(column: str, splits: Mapping[str, Iterable[Any]]) -> Table:
    """How many rows each value of `column` has in each split (the values by split), with their sums; the most frequent value first."""
    counts = {s: Counter("(none)" if v is None else str(v) for v in values) for s, values in splits.items()}
    total = sum(counts.values(), Counter[str]())
    values = sorted(total, key=lambda value: (-total[value], value))
    body = [(value, *(counts[split][value] for split in splits)) for value in values]
    sums = ("total", *(each.total() for each in counts.values()))
    return table(f"Rows by {column.replace('_', ' ')}", (column, *splits), [*body, sums])


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str | int | None]]) -> Table:
    """A table of texts and counts by the titles of its columns."""
    are_counts = [any(isinstance(row[place], int) for row in rows) for place in range(len(header))]
    columns = [Column(name, name, "count" if c else "prose") for name, c in zip(header, are_counts, strict=True)]
    return Table("", columns, [dict(zip(header, row, strict=True)) for row in rows], title)


@cache
def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("truebench_hf.loaders", "cards"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # Markdown, of our own texts and counts
    )
