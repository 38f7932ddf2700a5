"""The data sets there are: what each is, under which terms, and which command reads it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from truebench_hf.errors import unknown


@dataclass(frozen=True, slots=True)
class Entry:
    """One data set. `source` says where its rows come from (None: built in). `publishable` is what its licence allows;
    `benchmark` sets get an eval.yaml: those whose scores `truebench publish results` writes onto models' pages.
    `splits` and `languages` are those to expect before it is built, `command` is the one that works on its rows. `paper`
    is its key in citations.txt, `homepage` the page of the data or of that paper ("" where there is none)."""

    name: str
    title: str
    summary: str
    licence: str
    paper: str
    homepage: str
    source: str | None = None
    publishable: bool = True
    benchmark: bool = False
    splits: tuple[str, ...] = ("test",)
    languages: tuple[str, ...] = ("en",)
    task: str = "text-generation"
    tags: tuple[str, ...] = ("instruction-following",)
    command: str = ""

    @property
    def repository(self) -> str:
        """Where the set is on the Hub, as long as nobody has pushed it."""
        return f"ORGANISATION/{self.name}"


def _entries() -> Iterator[Entry]:
    """The entries of catalogue.yaml."""
    import yaml

    listed = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
    for name, fields in listed.items():
        values: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()
        }
        yield Entry(name, **values)


CATALOGUE: dict[str, Entry] = {entry.name: entry for entry in _entries()}


def entry(name: str) -> Entry:
    """The entry of that name, in any case; `mini` is `truebench_mini`. Raises UserError with the nearest names."""
    folded = name.casefold().replace("-", "_")
    folded = "truebench_mini" if folded == "mini" else folded
    if folded not in CATALOGUE:
        raise unknown("data set", name, CATALOGUE)
    return CATALOGUE[folded]
