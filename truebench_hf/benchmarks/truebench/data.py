"""TRUEBench data: the built-in sample, an official JSONL, a pinned release, or a Hub data set with the same columns."""

from __future__ import annotations

import hashlib
import os
import re
import urllib.request
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any, TypeGuard
from urllib.error import URLError

from truebench_hf import jsonl
from truebench_hf.engine.ledger import canonical, digest
from truebench_hf.errors import UserError, unknown
from truebench_hf.in_memory import InMemory
from truebench_hf.redaction import masked
from truebench_hf.types import Criterion, Instance, Turn

CATEGORIES = (
    "Content Generation", "Editing", "Data Analysis", "Reasoning", "Hallucination",
    "Safety", "Repetition", "Summarization", "Translation", "Multi-Turn",
)  # fmt: skip
LANGUAGES = ("KO", "EN", "JA", "ZH", "PL", "DE", "PT", "ES", "FR", "IT", "RU", "VI")
MINI = Path(__file__).with_name("mini.jsonl")
HALF = re.compile("[\ud800-\udfff]")  # half a character (a lone surrogate): no file, page or terminal takes it


@dataclass(frozen=True, slots=True)
class Release:
    """A pinned public release: where its file is, and what it holds."""

    url: str
    sha256: str
    instances: int
    turns: int
    criteria: int


_FILES = ("json", "jsonl", "csv", "parquet", "txt", "gz")  # a name that ends so is no Hub id
RELEASES = {
    "v0.6.1": Release(
        "https://raw.githubusercontent.com/SamsungLabs/TRUEBench/bb8c0541dc7dca375249fe03cccec592532f6632"
        "/dataset/TRUEBench-v0.6.1.jsonl",
        "5219eda066398d4e2c5f47db5e087f732c3f63536b4588df320b98bc94e1014a",
        2485,
        3000,
        9591,
    )
}


def load(data: str) -> list[Instance]:
    """The instances of `mini`, a release (`v0.6.1`), a JSONL path or a Hub id (`org/name` or `org/name@revision`).

    Raises UserError naming the line and field of the first malformed row, or the remedy where nothing is found.
    """
    if isinstance(data, InMemory):
        return instances((f"row {number}", row) for number, row in enumerate(data.value, 1))
    if data == "mini":
        return read_jsonl(MINI)
    if data in RELEASES:
        return read_jsonl(download(data))
    if Path(data).is_file():
        return read_jsonl(Path(data))
    if re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", data) and Path(data).suffix[1:] not in _FILES:
        return _from_hub(data)
    raise UserError(f"--data {data}: no such file; give mini, {', '.join(RELEASES)}, a JSONL path or a Hub id")


def read_jsonl(path: Path) -> list[Instance]:
    """The instances of an official JSONL file."""
    return instances(jsonl.read(path))


def instances(rows: Iterable[tuple[str, Any]]) -> list[Instance]:
    """Instances from (where, row) pairs with the official columns; `where` names the row in errors.

    Secrets that this process knows are masked in them before anything uses them.
    """
    made: list[Instance] = []
    seen: dict[str, str] = {}
    for where, row in rows:
        instance = masked(parse_row(row, where))
        if instance.id in seen:
            raise UserError(f"{where}: index {instance.id} stands twice (first at {seen[instance.id]}); remove one")
        seen[instance.id] = where
        made.append(instance)
    if not made:
        raise UserError("the data holds no instances")
    return made


def parse_row(row: Any, where: str) -> Instance:
    """One instance from a row with the official columns. Raises UserError with the field that is wrong."""
    if not isinstance(row, dict):
        raise UserError(f"{where}: not an object")
    for name in ("language", "category", "sub_category"):
        if not isinstance(row.get(name), str) or not row[name]:
            raise UserError(f"{where}: field {name!r} must be a text")
    index = row.get("index")
    if isinstance(index, bool) or not isinstance(index, int | str):
        raise UserError(f"{where}: field 'index' must be a number or a text")
    for name in ("index", "language", "category", "sub_category"):  # which name rows and columns of tables
        if HALF.search(str(row[name])):
            raise UserError(f"{where}: field {name!r} holds half a character (a lone surrogate); write it anew")
    prompts: Any = row.get("input")
    criteria: Any = row.get("criteria")
    if not _texts(prompts):
        raise UserError(f"{where}: field 'input' must be a list of texts, one per turn")
    if not isinstance(criteria, list) or len(criteria) != len(prompts) or not all(map(_texts, criteria)):
        raise UserError(f"{where}: field 'criteria' must be a list of lists of texts, one list per turn of 'input'")
    if row.get("turns") not in (None, len(prompts)):
        raise UserError(f"{where}: field 'turns' is {row['turns']!r}, but 'input' has {len(prompts)} turns")
    turns = tuple(Turn(p, tuple(map(Criterion, texts))) for p, texts in zip(prompts, criteria, strict=True))
    return Instance(str(index), row["language"], row["category"], row["sub_category"], turns)


def select(all_instances: Sequence[Instance], languages: Sequence[str], categories: Sequence[str]) -> list[Instance]:
    """The instances of some languages and categories. Raises UserError on a name the data lacks."""
    chosen = list(all_instances)
    for field, wanted in (("language", languages), ("category", categories)):
        known = {getattr(i, field).casefold(): getattr(i, field) for i in all_instances}
        for name in wanted:
            if name.casefold() not in known:
                raise unknown(field, name, sorted(known.values()))
        folded = {name.casefold() for name in wanted}
        chosen = [i for i in chosen if not folded or getattr(i, field).casefold() in folded]
    if not chosen:
        raise UserError("no instance has both the languages and the categories asked for; ask for fewer")
    return chosen


def content(instance: Instance) -> list[Any]:
    """All of an instance that shapes results, whatever file it came from."""
    turns = [[turn.prompt, [criterion.text for criterion in turn.criteria]] for turn in instance.turns]
    return [instance.id, instance.language, instance.category, instance.task, turns]


def data_hash(chosen: Sequence[Instance]) -> str:
    """SHA-256 over the content of the instances."""
    return digest(canonical(list(map(content, chosen))))


def download(name: str) -> Path:
    """The file of a release, fetched once into the user's cache and checked. Raises UserError when it cannot be had."""
    release = RELEASES[name]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "truebench_hf"
    target = cache / f"TRUEBench-{name}.jsonl"
    if target.is_file() and _sha256(target.read_bytes()) == release.sha256:
        return target
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with urllib.request.urlopen(release.url, timeout=60) as answer:
            content = answer.read()
    except (URLError, OSError, HTTPException) as error:
        raise UserError(f"--data {name}: cannot fetch {release.url}: {error}; download it and give its path") from error
    if _sha256(content) != release.sha256:
        raise UserError(f"--data {name}: {release.url} does not have the pinned SHA-256 {release.sha256}")
    part = target.with_suffix(".part")
    part.write_bytes(content)
    part.replace(target)
    return target


def _from_hub(data: str) -> list[Instance]:
    from datasets import load_dataset

    name, _, revision = data.partition("@")
    try:
        splits = load_dataset(name, revision=revision or None)
    except Exception as error:  # the client has many errors of its own; all mean: cannot be loaded
        raise UserError(
            f"--data {data}: cannot be loaded from the Hub: {' '.join(str(error).split())[:300]}"
        ) from error
    split = "test" if "test" in splits or len(splits) != 1 else next(iter(splits))
    if split not in splits:
        raise UserError(f"--data {data}: has no split test, and more than one other: {', '.join(splits)}")
    return instances((f"{data}, row {number}", row) for number, row in enumerate(splits[split]))


def _texts(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and bool(value) and all(isinstance(text, str) and text.strip() for text in value)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
