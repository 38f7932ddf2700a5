"""The data sets there are: what each is, under which terms, which command reads it; and where TRUEBench's releases are."""

from __future__ import annotations

import os
import urllib.request
from dataclasses import dataclass
from pathlib import Path

from truebench_hf.data.rows import Row, tables
from truebench_hf.errors import UserError, refused, unknown
from truebench_hf.hashing import digest
from truebench_hf.text.whole_files import write_whole


class Entry(Row):
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


@dataclass(frozen=True, slots=True)
class Release:
    """A pinned public release of TRUEBench: where its file is, and what it holds."""

    url: str
    sha256: str
    instances: int
    turns: int
    criteria: int


CATALOGUE = {name: Entry(name=name, **row) for name, row in tables("catalogue.yaml")["sets"].items()}
RELEASES = {name: Release(**row) for name, row in tables("catalogue.yaml")["releases"].items()}
LATEST = [*RELEASES][-1]
NAMES = ("mini", "truebench_mini", "truebench", *RELEASES)  # truebench is the latest release
MINI = Path(__file__).with_name("truebench_mini.jsonl")


def entry(name: str) -> Entry:
    """The entry of that name, in any case; `mini` is `truebench_mini`. Raises UserError with the nearest names."""
    folded = name.casefold().replace("-", "_")
    folded = "truebench_mini" if folded == "mini" else folded
    if folded not in CATALOGUE:
        raise unknown("data set", name, CATALOGUE)
    return CATALOGUE[folded]


def built(data: str, name: str) -> bool:
    """Whether the data is the set of this name: a folder of that name here, which was built, goes before."""
    return data == name and not (Path(name) / "build.json").is_file()


def located(data: str) -> str:
    """The file of one of `NAMES`, a release fetched if need be; any other text as it is."""
    if not any(built(data, name) for name in NAMES):
        return data
    return str(MINI if data in ("mini", "truebench_mini") else download(LATEST if data == "truebench" else data))


def download(name: str) -> Path:
    """The file of a release, fetched once into the user's cache and checked. Raises UserError when it cannot be had."""
    release = RELEASES[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "truebench_hf"
    target = cache / f"TRUEBench-{name}.jsonl"
    if target.is_file() and digest(target.read_bytes()) == release.sha256:
        return target
    with refused(f"--data {name}: cannot fetch {release.url}", "; download it and give its path"):
        cache.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(release.url, timeout=60) as answer:
            content = answer.read()
    if digest(content) != release.sha256:
        raise UserError(f"--data {name}: {release.url} does not have the pinned SHA-256 {release.sha256}")
    write_whole(target, [content.decode("utf-8")], newline="")
    return target
